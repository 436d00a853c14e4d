//! That something long is going on, for those who watch: only on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Does `work`, and shows what it is and for how long it has been going on.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    // No thread that ticks beside a kernel whose time is measured, unless somebody sees it.
    if !io::stderr().is_terminal() {
        return work();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_string());
    bar.enable_steady_tick(Duration::from_millis(250));
    let done = work();
    bar.finish_and_clear();
    done
}

//! What the library says while it works, on stderr: warnings as the commands' own, and what each stage
//! does if the user asked (`-v`, `-vv`).

use std::fmt::{self, Write};
use std::io::{self, IsTerminal};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::render;

/// 0: warnings; 1: what each stage does; 2 and more: every step of it.
pub fn start(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // What other crates have to say (the solver counts references) is of no use to anybody here.
    let ours = Targets::new().with_target("siskin", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).event_format(Lines);
    let _ = tracing_subscriber::registry().with(ours).with(lines).try_init();
}

/// One line for each event.
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut message = Message(String::new());
        event.record(&mut message);
        match *event.metadata().level() {
            Level::ERROR | Level::WARN => {
                writeln!(out, "{}", render::warning(&message.0, io::stderr().is_terminal()))
            }
            Level::INFO => writeln!(out, "{}", message.0),
            _ => writeln!(out, "  {}", message.0),
        }
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

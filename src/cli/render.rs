//! Diagnostics in rustc's style.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use siskin::diagnostic::{Code, Diagnostic};

fn renderer(colour: bool) -> Renderer {
    let colour = colour && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii)
}

/// Code, message, place, notes and help.
pub fn diagnostic(d: &Diagnostic, colour: bool) -> String {
    let title = Level::ERROR.primary_title(safe(&d.message)).id(d.code.as_str());
    let mut elements = title.elements(None::<annotate_snippets::Message<'_>>);
    if let Some(source) = &d.source {
        let snippet = Snippet::source(source.text.as_ref())
            .path(source.name.as_str())
            .line_start(source.first_line.max(1));
        match &d.span {
            Some((span, label)) => {
                let place = AnnotationKind::Primary.span(within(&source.text, span));
                elements = elements.element(snippet.annotation(place.label(safe(label))));
            }
            None => {
                let origin = annotate_snippets::Origin::path(source.name.as_str());
                elements = elements.element(origin);
            }
        }
    }
    for note in &d.notes {
        elements = elements.element(Level::NOTE.message(safe(note)));
    }
    if let Some(help) = d.help.as_deref().or(remedy(d.code)) {
        elements = elements.element(Level::HELP.message(safe(help)));
    }
    renderer(colour).render(&[elements])
}

/// What to do about a diagnostic that does not say so itself.
fn remedy(code: Code) -> Option<&'static str> {
    match code {
        Code::Syntax => Some(
            "expressions are sums of names, calls of index arrays and their integer multiples, \
             compared by = != < <= > >= and joined by `and`, `or`, `not`",
        ),
        Code::Data => Some("correct the file, or write it again"),
        Code::Property => Some("correct the index arrays, or the declaration of the layout"),
        _ => None,
    }
}

/// A warning that has no place.
pub fn warning(text: &str, colour: bool) -> String {
    let group =
        Level::WARNING.primary_title(safe(text)).elements(None::<annotate_snippets::Message<'_>>);
    renderer(colour).render(&[group])
}

/// What would have been better.
pub fn hint(text: &str, colour: bool) -> String {
    let group =
        Level::HELP.primary_title(safe(text)).elements(None::<annotate_snippets::Message<'_>>);
    renderer(colour).render(&[group])
}

/// Control characters of a file's content must not reach the terminal.
fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// The span, moved inside the text and onto character boundaries.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_place_notes_and_help_are_shown() {
        let d = Diagnostic::new(Code::Syntax, "expected a term")
            .at(4..5, "here")
            .within("<relation>", "p + + q")
            .note("a note")
            .help("write one");
        let text = diagnostic(&d, false);
        for part in [
            "error[S0101]: expected a term",
            "<relation>:1:5",
            "^ here",
            "note: a note",
            "help: write one",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn spans_outside_the_text_and_empty_texts_do_no_harm() {
        for (text, span) in [("", 0..5), ("é", 1..1), ("a\nb", 2..9), ("abc", 7..8)] {
            let d = Diagnostic::new(Code::Data, "x").at(span, "here").within("f", text);
            assert!(diagnostic(&d, false).contains("error[S0501]"));
        }
    }

    #[test]
    fn a_line_of_a_large_file_keeps_its_number() {
        let d = Diagnostic::new(Code::Data, "bad").at_line("m.mtx", 17, "1 x 3", "not a number");
        assert!(diagnostic(&d, false).contains("m.mtx:17:1"));
    }
}

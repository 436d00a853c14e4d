//! Changes that a designer could make to a declaration, most of them mistakes.

use super::declaration::Declaration;
use super::random::Random;

/// Changes a declaration once.
pub fn change(random: &mut Random, it: &mut Declaration) {
    let piece = random.below(it.pieces.len());
    match random.below(13) {
        0 => {
            let at = random.below(it.pieces[piece].len());
            it.pieces[piece].remove(at);
        }
        1..=3 => {
            let more = condition(random, it);
            it.pieces[piece].push(more);
        }
        4 if !it.properties.is_empty() => {
            let at = random.below(it.properties.len());
            it.properties.remove(at);
        }
        5 if !it.properties.is_empty() => {
            let at = random.below(it.properties.len());
            let old = it.properties[at].clone();
            it.properties[at] = match random.below(3) {
                0 => old.replace("\nstrict = true", ""),
                1 => old.replace(" < ", " <= "),
                _ => format!("{old}\ndirection = \"decreasing\""),
            };
        }
        6 if it.value.len() > 1 => {
            let at = random.below(it.value.len());
            it.value.remove(at);
        }
        7 if !it.value.is_empty() => {
            let at = random.below(it.value.len());
            it.value[at].0 = match random.below(3) {
                0 => format!("floor({}/2)", it.value[at].0),
                1 => format!("{} + 1", it.value[at].0),
                _ => random.pick(&it.positions).clone(),
            };
        }
        8 if !it.arrays.is_empty() => {
            let at = random.below(it.arrays.len());
            let array = &mut it.arrays[at];
            array.fill = match array.fill {
                None => Some(0),
                Some(_) => None,
            };
        }
        9 if !it.arrays.is_empty() => {
            let at = random.below(it.arrays.len());
            let range = &mut it.arrays[at].range;
            *range = match random.below(2) {
                0 => range.replace(" < ", " <= "),
                _ => range.replace("0 <= ", "1 <= "),
            };
        }
        10 if !it.params.is_empty() => {
            let at = random.below(it.params.len());
            it.params[at].1 = match random.below(2) {
                0 => "\"count\"".to_string(),
                _ => random.below(5).to_string(),
            };
        }
        11 if it.dims.len() > 1 => {
            // Two pieces that share everything, mirrored.
            let [a, b] = [it.dims[0].clone(), it.dims[1].clone()];
            let mut one = it.pieces[0].clone();
            let mirrored =
                |c: &String| with_word(&with_word(&with_word(c, &a, "?"), &b, &a), "?", &b);
            let mut other: Vec<String> = one.iter().map(mirrored).collect();
            one.push(format!("{b} <= {a}"));
            other.push(format!("{a} < {b}"));
            it.pieces = vec![one, other];
            it.properties.push(format!(
                "formula = \"{} = {}\"",
                a.to_uppercase(),
                b.to_uppercase()
            ));
        }
        _ => {
            let positions = it.positions.len();
            if positions > 1 {
                let (a, b) = (random.below(positions), random.below(positions));
                it.positions.swap(a, b);
            }
        }
    }
}

/// A condition on positions, sizes, arrays or coordinates.
fn condition(random: &mut Random, it: &Declaration) -> String {
    let p = random.pick(&it.positions).clone();
    let d = random.pick(&it.dims).clone();
    let e = random.pick(&it.dims).clone();
    let c = random.below(4);
    match random.below(11) {
        0 => format!("{p} <= {c}"),
        1 => format!("{p} < {c}"),
        2 => format!("{d} <= {e}"),
        3 => format!("{d} != {e}"),
        4 => format!("{d} >= {c}"),
        5 => format!("{d} = 2*floor({d}/2)"),
        6 => format!("{d} <= {p} + {c}"),
        7 if !it.params.is_empty() => format!("{} <= {c}", random.pick(&it.params).0),
        8 if !it.params.is_empty() => format!("{p} < {}", random.pick(&it.params).0),
        9 if !it.arrays.is_empty() => {
            let array = random.pick(&it.arrays);
            format!("{}({}) <= {c}", array.name, array.args.join(", "))
        }
        10 if !it.arrays.is_empty() => {
            let array = random.pick(&it.arrays);
            format!("{}({}) >= {p}", array.name, array.args.join(", "))
        }
        _ => format!("{d} <= {e} + {c}"),
    }
}

/// Two declarations in one: entries where `condition` holds in the first, the others in the second. A
/// position in front tells them apart.
pub fn both(random: &mut Random, one: &Declaration, other: &Declaration) -> Option<Declaration> {
    if one.dims != other.dims || one.value.is_empty() || other.value.is_empty() {
        return None;
    }
    let apart = |it: &Declaration, tag: &str| {
        let mut out = it.clone();
        let mut names: Vec<String> = it.positions.clone();
        names.extend(it.arrays.iter().map(|a| a.name.clone()));
        names.extend(it.params.iter().map(|(n, _)| n.clone()));
        for name in names {
            let new = format!("{name}{tag}");
            let turn = |s: &mut String| *s = with_word(s, &name, &new);
            out.positions.iter_mut().for_each(turn);
            out.pieces.iter_mut().flatten().for_each(turn);
            out.value.iter_mut().for_each(|(e, n)| {
                turn(e);
                turn(n);
            });
            for a in &mut out.arrays {
                turn(&mut a.name);
                a.args.iter_mut().for_each(turn);
                turn(&mut a.domain);
                turn(&mut a.range);
                a.shape.iter_mut().flatten().for_each(turn);
            }
            out.params.iter_mut().for_each(|(n, v)| {
                turn(n);
                turn(v);
            });
            out.properties.iter_mut().for_each(turn);
        }
        out
    };
    let (a, b) = (apart(one, "a"), apart(other, "b"));
    let mut out = a.clone();
    out.positions = vec!["t".to_string()];
    out.positions.extend(a.positions.iter().chain(&b.positions).cloned());
    let (d, e) = (random.pick(&one.dims).clone(), random.pick(&one.dims).clone());
    let (here, there) = match random.below(3) {
        0 => ("0 <= 0".to_string(), "0 <= 0".to_string()),
        1 if d != e => (format!("{d} <= {e}"), format!("{e} < {d}")),
        _ => (format!("{d} < 2"), format!("2 <= {d}")),
    };
    let zeros =
        |of: &Declaration| of.positions.iter().map(|p| format!("{p} = 0")).collect::<Vec<_>>();
    let mut pieces = Vec::new();
    for (it, rest, tag, when) in [(&a, &b, 0, here), (&b, &a, 1, there)] {
        let mut piece = vec![format!("t = {tag}"), when];
        piece.extend(it.pieces[0].clone());
        piece.extend(zeros(rest));
        pieces.push(piece);
    }
    out.pieces = pieces;
    // One after the other: the place within the first, or behind it.
    let place = |it: &Declaration| {
        it.value.iter().fold(String::new(), |place, (e, n)| match place.is_empty() {
            true => format!("({e})"),
            false => format!("({place}*({n}) + {e})"),
        })
    };
    let size = |it: &Declaration| {
        it.value.iter().map(|(_, n)| format!("({n})")).collect::<Vec<_>>().join("*")
    };
    let index = format!("(1 - t)*{} + t*({} + {})", place(&a), size(&a), place(&b));
    out.value = vec![(index, format!("{} + {}", size(&a), size(&b)))];
    out.arrays.extend(b.arrays);
    out.params.extend(b.params);
    out.properties.extend(b.properties);
    Some(out)
}

/// `text` with the word `word` replaced.
pub fn with_word(text: &str, word: &str, new: &str) -> String {
    let mut out = String::new();
    let mut name = String::new();
    for c in text.chars().chain(std::iter::once('\n')) {
        if c.is_ascii_alphanumeric() || c == '_' || c == '?' {
            name.push(c);
            continue;
        }
        out.push_str(if name == word { new } else { &name });
        name.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// A shipped declaration, or one of the examples, with a line changed or left out.
pub fn of_text(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .map(|l| l.split('#').next().unwrap_or_default().trim_end().to_string())
        .filter(|l| !l.is_empty())
        .collect();
    for _ in 0..random.below(3) {
        let at = random.below(lines.len());
        let line = lines[at].clone();
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 if line.contains(" < ") => lines[at] = line.replacen(" < ", " <= ", 1),
            2 if line.contains(" <= ") => lines[at] = line.replacen(" <= ", " < ", 1),
            3 if line.contains('}') => {
                let more = *random.pick(&[
                    "p0 <= 1", "p0 < 2", "j <= i", "i != j", "NNZ <= 4", "i <= 2", "p1 <= 2",
                ]);
                lines[at] = line.replacen(" }", &format!(" and {more} }}"), 1);
            }
            4 if line.contains("strict") => lines[at] = line.replace("true", "false"),
            _ => {
                let (old, new) = *random.pick(&[("p0", "p1"), ("1", "2"), ("0", "1"), ("I", "J")]);
                lines[at] = with_word(&line, old, new);
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n") + "\n"
}

//! Levels that name several components of their parent's position, and share an outer level's array.

use std::rc::Rc;

use crate::diagnostic::Code;
use crate::formula::{Affine, Atom, Name};
use crate::isl::{Frame, Set};
use crate::layout::Layout;

/// The relation as a set, with the names of the other declaration.
fn set(layout: &Layout, names: &[(&str, &str)]) -> Set {
    let renamed = |n: &Name| {
        let (_, to) = names.iter().find(|(from, _)| **n == **from)?;
        Some(Name::from(*to))
    };
    let piece: Vec<_> = layout.relation.pieces[0].iter().map(|c| c.rename(&renamed)).collect();
    let offset = Affine::call("offset", vec![Affine::var("p0")]);
    let names = layout.relation.positions.iter().chain(&layout.relation.coordinates);
    let mut dims: Vec<Atom> = names.cloned().map(Atom::Var).collect();
    dims.extend(offset.as_atom().cloned());
    let params = ["I", "J", "D"].map(|n| Atom::Var(n.into())).to_vec();
    Set::new(&Rc::new(Frame::new(params, dims)), &piece).unwrap()
}

#[test]
fn ranges_and_offsets_below_a_list_are_stored_diagonals() {
    let levels = Layout::named("list(), range(i), offset(j)").unwrap();
    let whole = Layout::named("layouts/dia.toml").unwrap();
    let names = [("offset1", "offset"), ("P0", "D")];
    let (a, b) = (set(&levels, &names), set(&whole, &[]));
    assert!(a.is_subset(&b) && b.is_subset(&a), "{}\n{}", levels.relation, whole.relation);
    assert_eq!(
        levels.relation.to_string(),
        "{ [p0, p1] -> [i, j] : 0 <= p0 < P0 and 0 <= p1 < I and i = p1 and p1 + offset1(p0) >= 0 \
         and j = p1 + offset1(p0) and j < J }"
    );
    let formulas = |l: &Layout| -> Vec<String> {
        l.properties.iter().map(|p| p.formula.to_string()).collect()
    };
    let shown: Vec<String> = formulas(&levels)
        .iter()
        .map(|f| f.replace("offset1", "offset").replace("P0", "D"))
        .collect();
    assert_eq!(shown, formulas(&whole));
    assert_eq!(levels.value.shape.len(), 2);
}

#[test]
fn the_other_components_of_the_parent_stay_a_tuple() {
    let batch = Layout::named("dense(k), list(), range(i), offset(j)").unwrap();
    let printed = batch.relation.to_string();
    assert!(printed.contains("j = p2 + offset2(p0, p1)"), "{printed}");
    let one = Layout::named("range(i), offset(j)").unwrap();
    assert!(one.relation.to_string().contains("j = p0 + offset0(0)"), "{}", one.relation);
    // The range of the outer level's array has the bounds of both levels.
    let ranges: Vec<usize> =
        [&batch.arrays["offset2"], &one.arrays["offset0"]].map(|a| a.range.len()).to_vec();
    assert_eq!(ranges, [2, 2]);
}

#[test]
fn levels_that_do_not_fit_together_are_refused() {
    let cases = [
        ("offset(j)", "needs 1 component(s) of its parent's position, which has 0"),
        ("dense(i), offset(j)", "unknown index array of an outer level `offset`"),
        ("list(), range(i), dense(k), offset(j)", "takes 2 argument(s) here, but the outer"),
    ];
    for (text, message) in cases {
        let e = Layout::named(text).unwrap_err();
        assert_eq!(e.code, Code::LayoutSchema, "{text}");
        assert!(e.message.contains(message) && e.help.is_some(), "{text}: {e}");
    }
}

#[test]
fn mistakes_in_a_level_are_named() {
    let good = "name = 'mine'\nrelation = '{ [u, p] -> [i] : i = p + offset(u) }'\n\
                parent = '[u, p]'\nchild = '[u, p]'\n[index.offset]\nouter = true\n\
                range = 'offset(u) < I'\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let layout = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Layout::named(&format!("list(), range(i), {}(j)", path.display()))
    };
    layout(good).unwrap();
    let cases = [
        ("parent = '[u, p]'", "parent = '[p, u]'", "do not begin with those of `parent`"),
        ("parent = '[u, p]'", "parent = 'p'", "`parent` is not a tuple of positions"),
        ("outer = true", "outer = true\ndomain = '0 <= u < U'", "has the `domain` of the outer"),
        ("outer = true", "outer = true\nfill = 0", "has the shape and padding of the outer"),
        ("outer = true\n", "", "has no `domain`"),
        ("[index.offset]", "[index.shift]", "the arguments of `shift` are not clear"),
    ];
    for (from, to, message) in cases {
        let e = layout(&good.replace(from, to)).unwrap_err();
        assert!(e.message.contains(message), "{to}: {e}");
    }
    let whole = std::fs::read_to_string("layouts/dia.toml").unwrap();
    let e = super::from_toml(&whole.replace("[index.offset]", "[index.offset]\nouter = true"));
    assert!(e.unwrap_err().message.contains("`outer` belongs to levels"));
}

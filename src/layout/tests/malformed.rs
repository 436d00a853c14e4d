//! Every mistake has its own diagnostic, and a place.

use super::from_toml;
use crate::diagnostic::Code;
use crate::layout::Layout;

const GOOD: &str = r#"
name = "mine"
dims = ["i", "j"]
relation = """
{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
                       and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }"""
value = "val(p1)"
[index.pos]
domain = "0 <= p0 <= I"
range = "0 <= pos(p0) <= NNZ"
[index.crd]
domain = "0 <= p1 < NNZ"
range = "0 <= crd(p1) < J"
[params]
NNZ = "pos(I)"
[[property]]
kind = "monotonic"
array = "pos"
"#;

#[test]
fn each_mistake_is_named_and_placed() {
    from_toml(GOOD).unwrap();
    // (what to replace, by what, code, part of the message, the text it points at)
    let schema = Code::LayoutSchema;
    let cases = [
        ("value =", "valeu =", schema, "unknown field `valeu`", "valeu"),
        ("value = \"val(p1)\"", "", schema, "has no `value`", "\"mine\""),
        ("dims = [\"i\", \"j\"]", "dims = 3", schema, "a list of names, or \"any\"", "3"),
        ("dims = [\"i\", \"j\"]", "dims = [\"i\", \"i\"]", schema, "occurs twice", "\"i\""),
        ("dims = [\"i\", \"j\"]", "dims = [\"i\", \"J\"]", schema, "name of its extent", "\"J\""),
        ("dims = [\"i\", \"j\"]", "dims = [\"i\", \"a b\"]", schema, "cannot be a name", "\"a b\""),
        ("[params]\n", "[params]\nI = 4\n", schema, "`I` is the extent of a dimension", "I"),
        ("and j = crd", "and and j = crd", Code::Syntax, "found `and`", "and"),
        ("j = crd(p1) }", "j = crd(p1) ", Code::Syntax, "expected `}`", ""),
        ("i = p0", "i = p0*p1", Code::NotAffine, "multiplies two unknowns", "p0*p1"),
        ("j = crd(p1)", "j = col(p1)", schema, "unknown index array `col`", "col"),
        ("j = crd(p1)", "j = crd(p1, p0)", schema, "takes 1 argument(s), but 2 given", "crd"),
        ("j = crd(p1)", "j = crd(px)", schema, "unknown name `px`", "px"),
        ("-> [i, j]", "-> [i]", schema, "gives 1 coordinate(s), but `dims` has 2", "-> [i]"),
        (
            "-> [i, j]",
            "-> [j, i]",
            schema,
            "coordinates [j, i], but `dims` are [i, j]",
            "-> [j, i]",
        ),
        ("val(p1)", "val(p7)", schema, "unknown name `p7`", "p7"),
        ("val(p1)", "p1", schema, "the value is not a call", "\"p1\""),
        ("0 <= p1 < NNZ", "0 <= p1", schema, "size of `crd` is unknown", "\"0 <= p1\""),
        ("0 <= p0 <= I\"", "0 <= p0 <= I or p0 < 3\"", schema, "plain conjunctions", ""),
        (
            "range = \"0 <= crd(p1)",
            "range = \"0 <= crd(p1 + 1)",
            schema,
            "else than variables",
            "crd",
        ),
        (
            "kind = \"monotonic\"",
            "kind = \"monotnic\"",
            schema,
            "property kind `monotnic`",
            "\"monotnic\"",
        ),
        ("kind = \"monotonic\"", "", schema, "has no kind", ""),
        (
            "kind = \"monotonic\"",
            "kind = \"disjoint\"",
            schema,
            "two arrays, not 1",
            "\"disjoint\"",
        ),
        (
            "kind = \"monotonic\"",
            "kind = \"periodic-monotonic\"",
            schema,
            "needs the array of its segments",
            "\"periodic-monotonic\"",
        ),
        ("array = \"pos\"", "array = \"pso\"", schema, "unknown index array `pso`", "\"pso\""),
        (
            "array = \"pos\"",
            "array = \"pos\"\ndirection = \"up\"",
            schema,
            "direction `up`",
            "\"up\"",
        ),
        (
            "array = \"pos\"",
            "array = \"pos\"\nwhen = \"ordered\"",
            schema,
            "belong to levels",
            "\"monotonic\"",
        ),
        ("NNZ = \"pos(I)\"", "NNZ = \"NNZ + 1\"", schema, "defined by itself", "NNZ"),
        ("NNZ = \"pos(I)\"", "NNZ = true", schema, "an integer, an expression", "true"),
        (
            "NNZ = \"pos(I)\"",
            "NNZ = \"pos(I)\"\nI = \"count\"",
            schema,
            "names both",
            "\"val(p1)\"",
        ),
        ("value =", "size = \"3\"\nvalue =", schema, "`size` belongs to levels", "\"3\""),
        ("value =", "levels = [\"dense(i)\"]\nvalue =", schema, "stands beside `levels`", ""),
        ("name = \"mine\"", "name = mine", schema, "breaks the schema", ""),
    ];
    for (from, to, code, message, at) in cases {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let e = match from_toml(&text) {
            Ok(layout) => panic!("{to:?} is accepted: {}", layout.relation),
            Err(e) => e,
        };
        assert_eq!(e.code, code, "{to}: {}", e.message);
        assert!(e.message.contains(message), "{to}: {}", e.message);
        assert!(e.help.is_some() || code == Code::Syntax, "{to}: no help");
        let source = e.source.unwrap_or_else(|| panic!("{to}: no source"));
        assert_eq!(&*source.text, text.as_str());
        let (span, _) = e.span.unwrap_or_else(|| panic!("{to}: no place"));
        let shown = source.text.get(span.clone()).unwrap_or_else(|| panic!("{to}: {span:?}"));
        if !at.is_empty() {
            assert_eq!(shown, at, "{to}");
        }
    }
}

#[test]
fn levels_say_everything_themselves() {
    let good = "name = \"x\"\ndims = [\"i\"]\nlevels = [\"dense(i)\"]\n";
    from_toml(good).unwrap();
    let extra = [
        "value = \"val(p)\"",
        "value_shape = [\"I\"]",
        "size = \"3\"",
        "child = \"[u]\"",
        "options = { ordered = true }",
        "root_only = true",
        "params = { R = 4 }",
        "index = { a = { domain = \"0 <= p < I\" } }",
    ];
    for line in extra {
        let e = from_toml(&format!("{good}{line}\n")).unwrap_err();
        let key = line.split(' ').next().unwrap();
        assert!(e.message.starts_with(&format!("`{key}` stands beside")), "{}", e.message);
    }
    let e = from_toml(&good.replace("dense(i)", "dense(i), dense(k)")).unwrap_err();
    let (span, _) = e.span.unwrap();
    assert_eq!(&e.source.unwrap().text[span], "k");
}

#[test]
fn a_mistake_in_a_use_points_at_the_use() {
    // (use, code, part of the message, the text it points at)
    let cases = [
        ("csrr", Code::UnknownLayout, "no layout `csrr`", "csrr"),
        ("compressed", Code::UnknownLayout, "no layout `compressed`", "compressed"),
        ("compresed(i)", Code::UnknownLayout, "no level `compresed`", "compresed"),
        ("bcsr(4)", Code::LayoutSchema, "takes 2 integer parameter(s), but 1 given", "bcsr(4)"),
        ("csr(4)", Code::LayoutSchema, "takes 0 integer parameter(s), but 1 given", "csr(4)"),
        ("bcsr(D=4)", Code::LayoutSchema, "unknown integer parameter `D`", "D=4"),
        ("bcsr(4,99999999999)", Code::LayoutSchema, "too large", "bcsr(4,99999999999)"),
        ("dense(i", Code::Syntax, "expected `,`", ""),
        ("dense(i), dense(i)", Code::LayoutSchema, "dimension `i` occurs twice", "i"),
        ("[i,j] dense(i)", Code::LayoutSchema, "no level stores dimension `j`", "dense(i)"),
        ("[i] dense(k)", Code::LayoutSchema, "unknown dimension `k`", "k"),
        ("dense(i, j)", Code::LayoutSchema, "stores 1 dimension(s), but 2 given", "dense(i, j)"),
        ("dense(i), entries(j)", Code::LayoutSchema, "must come first", "entries(j)"),
        ("compressed(i, uniq=false)", Code::LayoutSchema, "unknown option `uniq`", "uniq=false"),
        ("compressed(i, R=4)", Code::LayoutSchema, "unknown integer parameter `R`", "R=4"),
        ("", Code::UnknownLayout, "no layout", ""),
    ];
    for (text, code, message, at) in cases {
        let e = Layout::named(text).unwrap_err();
        assert_eq!(e.code, code, "{text}: {}", e.message);
        assert!(e.message.contains(message), "{text}: {}", e.message);
        assert!(e.help.is_some(), "{text}: no help");
        let (span, _) = e.span.unwrap();
        assert_eq!(&e.source.unwrap().text[span], at, "{text}");
    }
    let e = Layout::named("csrr").unwrap_err();
    assert!(e.help.unwrap().starts_with("did you mean `csr`? shipped layouts: "));
    assert_eq!(Layout::named("bcsr(0,4)").unwrap_err().code, Code::NotAffine);
}

#[test]
fn a_level_that_computes_with_its_parent_needs_one_component() {
    let folder = std::env::temp_dir().join(format!("siskin-parent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let level = folder.join("odd.toml");
    let text = "name = \"odd\"\nchild = \"[u]\"\nrelation = \"{ [u] -> [i] : i = 2*u }\"\n";
    std::fs::write(&level, text).unwrap();
    let one = Layout::named(&format!("dense(i), {}(j)", level.display()));
    let two = Layout::named(&format!("dense(i), dense(j), {}(k)", level.display()));
    let itself = Layout::named(level.to_str().unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(one.unwrap().relation.to_string().contains("j = 2*p0"));
    let two = two.unwrap_err();
    assert_eq!(two.code, Code::NotAffine);
    assert!(two.message.contains("the tuple (p0, p1)"), "{}", two.message);
    assert!(itself.unwrap_err().message.contains("is a level, not a layout"));
}

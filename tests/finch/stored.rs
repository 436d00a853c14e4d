//! What a program stores is what it assigned: the same by a kernel and by the interpreter.

use serde_json::Value;

use super::Inputs;
use super::compiled::Given;

const LISTED: &str = "SparseList(Element(0))";

fn inputs() -> Inputs {
    Inputs::default()
        .integers("x", &[6], &[3, 1, 0, 1, 0, 2])
        .integers("z", &[6], &[0, 1, 2, -1, 0, 0])
        .integers("v", &[6], &[-3, 0, 0, 5, 0, 2])
}

/// How many elements `y` stores, and what it holds; and whether a kernel made it.
fn stored(text: &str, sparse: &[bool]) -> (Value, Value, bool) {
    let mut given = Given::new(&inputs(), text, &|number, _| {
        sparse[number % sparse.len()].then(|| LISTED.to_string())
    });
    given.result("y", LISTED);
    let said = given.said().unwrap_or_else(|e| panic!("{text}\n{e}"));
    let y = said["outputs"].as_array().unwrap().last().unwrap();
    (y["stored"].clone(), y["values"].clone(), said.get("interpreted").is_none())
}

#[test]
fn a_workspace_with_room_for_every_element_is_kept_in_the_kernel() {
    let inputs = Inputs::default()
        .floats("A", &[3, 3], &[0.0, 2.0, 0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 4.0])
        .floats("B", &[3, 3], &[5.0, 0.0, 0.0, 0.0, 0.0, 6.0, 7.0, 0.0, 8.0]);
    let text = "y .= 0\nfor j = _\n w .= 0\n for k = _, i = _\n  w[i] += A[i,k] * B[k,j]\n end\n for i = _\n  y[j] += w[i]^2\n end\nend\nreturn y";
    let sparse = |_, _| Some("Dense(SparseList(Element(0.0)))".to_string());
    for (format, kernels) in [
        ("SparseByteMap(Element(0.0))", 1),
        ("Dense(Element(0.0))", 1),
        ("SparseList(Element(0.0))", 2),
        ("SparseDict(Element(0.0))", 2),
    ] {
        let mut given = Given::new(&inputs, text, &sparse);
        given.result("w", format);
        let said = given.said().unwrap();
        assert_eq!(
            said["outputs"][0]["values"],
            serde_json::json!([1460.0, 0.0, 1744.0]),
            "{format}"
        );
        let ran = said["statements"].as_array().map_or(1, Vec::len);
        assert_eq!(ran, kernels, "{format}");
    }
}

#[test]
fn kernels_and_the_interpreter_store_the_same() {
    let values = [
        "x[i] * z[i]",
        "x[i] + z[i]",
        "x[i] * z[i] * v[i]",
        "x[i] * z[i] + v[i]",
        "max(x[i], z[i])",
        "x[i] * (z[i] + v[i])",
        "ifelse(x[i] > 1, z[i], 0)",
        "ifelse(x[i] > 1, z[i], v[i])",
        "0 * x[i]",
        "-x[i]",
        "coalesce(x[~(i + 1)], 0)",
        "coalesce(x[~(i - 1)], 0) * z[i]",
        "x[i] * i",
        "x[i] - x[i]",
    ];
    let around = ["@", "if x[i] > 1\n@\nend", "if z[i] != 0\n@\nend", "if i > 2\n@\nend"];
    // A fold in a fixed order, which no kernel makes.
    let folded = "s .= 0\nfor j = 1:2, i = _\n s[] <<maxby>>= x[i]\nend\n";
    let mut compared = 0;
    for value in values {
        for around in around {
            let put = around.replace('@', &format!("y[i] += {value}"));
            let text = format!("y .= 0\nfor i = 1:6\n {put}\nend\n");
            let sparse = [[true; 3], [true, false, true], [false; 3]][compared % 3];
            let by_kernel = stored(&format!("{text}return y"), &sparse);
            let interpreted = stored(&format!("{folded}{text}return (s, y)"), &sparse);
            assert!(by_kernel.2 && !interpreted.2, "{text}");
            let [(count, elements), other] =
                [by_kernel, interpreted].map(|(count, elements, _)| (count, elements));
            assert_eq!((count, elements), other, "{text}{sparse:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, values.len() * around.len());
}

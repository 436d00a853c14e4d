//! Subscripts that values decide: compared where they are used, and refused where they lie outside.

use siskin::tensor::Values;

use super::Inputs;
use super::compiled::Given;
use super::kernels::agree;

fn program(name: &str) -> String {
    let path = format!("{}/examples/finch/{name}.finch", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// An image with a mask, of which every third pixel is chosen, and as many bins.
fn image(height: usize, width: usize, bins: usize) -> Inputs {
    let pixels = (0..height * width).map(|k| (k * 89 % 256) as u8).collect();
    let mask: Vec<bool> = (0..height * width).map(|k| k * 7 % 5 < 2).collect();
    Inputs::default()
        .tensor("img", &[height, width], Values::U8(pixels))
        .bools("mask", &[height, width], &mask)
        .size("bins", &[bins])
}

#[test]
fn a_histogram_is_one_statement() {
    for (name, text) in [
        ("histogram", "bins[k] = select(k == quot(img[y,x], 16), 1, 0)"),
        ("histogram_masked", "bins[k] = select(and(k == quot(img[y,x], 16), mask[y,x]), 1, 0)"),
    ] {
        let made = agree(&image(9, 5, 16), &program(name)).unwrap();
        let [only] = made.segments.as_slice() else { panic!("{:?}", made.segments) };
        assert_eq!(only.text, text);
        assert!(only.locates.is_empty());
    }
    // Not all numbers that a byte can be have a bin.
    let made = agree(&image(2, 1, 15), &program("histogram")).unwrap();
    assert_eq!(made.segments.len(), 2);
    assert_eq!(made.segments[0].locates.len(), 1);
}

#[test]
fn histograms_of_masks_in_many_formats() {
    let masks = [
        "Dense(Dense(Element(false)))",
        "Dense(SparseRunList(Pattern()))",
        "Dense(SparseList(Pattern()))",
        "Dense(SparseByteMap(Pattern()))",
        "csr",
    ];
    for (k, (height, width)) in [(7, 5), (1, 6), (1, 1), (0, 4), (3, 0)].into_iter().enumerate() {
        let inputs = image(height, width, 16);
        let format = |tensor: usize, _| (tensor == 1).then(|| masks[k].to_string());
        let text = program("histogram_masked");
        Given::new(&inputs, &text, &format).agrees(&inputs, &text);
    }
}

const UPDATES: [&str; 8] = [
    "y .= 0\nfor i=_\n y[p[i]] += x[i]\nend\nreturn y",
    "y .= 0\nfor i=_\n y[mod(p[i], 4) + 1] += x[i]\nend\nreturn y",
    "y .= 0\nfor i=_\n y[min(p[i], 3) + 1] <<max>>= x[i]\nend\nreturn y",
    "y .= 0\nfor i=_\n y[~p[i]] += x[i]\nend\nreturn y",
    "y .= 0\nfor i=_\n y[i] = x[p[i]]\nend\nreturn y",
    "y .= 0\nfor i=_\n if x[i] > 1\n y[i] += x[p[i]]\nend\nend\nreturn y",
    "y .= 0\nfor i=_\n y[i] += coalesce(x[~p[i]], 7)\nend\nreturn y",
    "y .= 0\nfor i=_, j=_\n y[p[i]] += A[i, j] * x[p[j]]\nend\nreturn y",
];

fn vectors(p: Values) -> Inputs {
    let numbers: Vec<i64> = (0..16).map(|k| k * 7 % 5 - 1).collect();
    Inputs::default()
        .tensor("p", &[4], p)
        .integers("x", &[4], &[3, -1, 0, 2])
        .integers("A", &[4, 4], &numbers)
        .size("y", &[4])
}

fn types(numbers: &[i64]) -> Vec<Values> {
    let small = numbers.iter().all(|n| (0..=255).contains(n));
    let mut out = vec![Values::I64(numbers.to_vec())];
    if numbers.iter().all(|n| i32::try_from(*n).is_ok()) {
        out.push(Values::I32(numbers.iter().map(|n| *n as i32).collect()));
    }
    if small {
        out.push(Values::U8(numbers.iter().map(|n| *n as u8).collect()));
    }
    out
}

#[test]
fn places_of_all_types_are_those_of_the_interpreter() {
    let (mut ran, mut refused) = (0, 0);
    let all: [&[i64]; 6] = [
        &[4, 1, 4, 2],
        &[1, 1, 1, 1],
        &[0, 1, 2, 3],
        &[5, 4, 3, 2],
        &[-1, 2, 2, 2],
        &[i64::MIN, 1, i64::MAX, 2],
    ];
    for text in UPDATES {
        for numbers in all {
            for p in types(numbers) {
                let inputs = vectors(p);
                let (tree, expected) = match inputs.lower(text) {
                    Ok(tree) => {
                        let expected = tree.interpret(&inputs.tensors);
                        (tree, expected)
                    }
                    Err(e) => panic!("{text}\n{e}"),
                };
                assert!(tree.statements().is_ok(), "{text}");
                match expected {
                    Ok(_) => {
                        agree(&inputs, text).unwrap_or_else(|e| panic!("{text}\n{numbers:?}\n{e}"));
                        ran += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(ran > 50 && refused > 20, "{ran} {refused}");
}

#[test]
fn kernels_go_to_places_in_any_format() {
    for (k, text) in UPDATES.into_iter().enumerate() {
        let p = types(&[4, 1, 4, 2]).swap_remove(k % 3);
        let inputs = vectors(p);
        // Where `x` has to be searched, places are a tensor.
        let x = ["dense", "sparse"][k / 4 % 2];
        let format = |tensor: usize, rank: usize| match (tensor, rank) {
            (0, _) => Some("dense".to_string()),
            (_, 1) => Some(x.to_string()),
            _ => Some("csr".to_string()),
        };
        Given::new(&inputs, text, &format).agrees(&inputs, text);
        Given::new(&inputs, text, &|_, _| Some("dense".to_string())).agrees(&inputs, text);
    }
}

#[test]
fn places_outside_are_refused_by_kernels() {
    for (text, outside) in [(UPDATES[0], 5), (UPDATES[4], 0), (UPDATES[5], 9)] {
        for p in types(&[1, outside, 2, 3]) {
            let inputs = vectors(p);
            let e = Given::new(&inputs, text, &|_, _| Some("dense".to_string())).run();
            match inputs.try_run(text) {
                Ok(_) => assert!(e.is_ok()),
                Err(_) => {
                    let e = e.expect_err("outside");
                    assert!(e.contains(&format!("subscript {outside} is outside of 1:4")), "{e}");
                }
            }
        }
    }
    let dark = image(2, 2, 3);
    let e = Given::new(&dark, &program("histogram"), &|_, _| None).run().expect_err("outside");
    assert!(e.contains("is outside of 1:3"), "{e}");
}

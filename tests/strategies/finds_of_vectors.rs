//! Finds in vectors whose coordinates rise, fall, repeat, or have no order, decided by Z3 with isl as second opinion.
//!
//! Shown as in `finds.rs`.

use crate::study::study;
use insta::assert_snapshot;

#[test]
fn increasing_in_increasing() {
    let study = study("s += a[i] * b[i]", "a=sparse b=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while crd_b(pb) < i)
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop (up, while crd_b(pb) < i, resume after a match, state {})
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank (key crd_b(pb) = i, state {})
      scan
      seq (up, while crd_b(pb) < i, resume after a match, state {})
      vector (up, while crd_b(pb) < i, state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while i < crd_b(pb)): NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [0, 1]
    advance (down, while i < crd_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], crd_b = [1]
    ");
}

#[test]
fn decreasing_in_decreasing() {
    let study = study("s += a[i] * b[i]", "a=@decreasing b=@decreasing", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while i < crd_b(pb))
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop (up, while i < crd_b(pb), resume after a match, state {})
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [1, 0]
      scan
      seq (up, while i < crd_b(pb), resume after a match, state {})
      vector (up, while i < crd_b(pb), state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while crd_b(pb) < i): NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]
    advance (down, while crd_b(pb) < i, state {}): NNZ_b = 1, pa = 0, i = 1, pa' = 1, i' = 0, pb = 0, crd_a = [1, 0], crd_b = [0]
    ");
}

#[test]
fn increasing_in_decreasing() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@decreasing", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while i < crd_b(pb))
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop refuted by `amortise` (up, while i < crd_b(pb), state {i}): every query would start again from the beginning of the range
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [1, 0]
      scan
      seq (down, while crd_b(pb) < i, resume after a match, state {})
      vector refuted by `amortise` (up, while i < crd_b(pb), state {i}): every query would start again from the beginning of the range
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while crd_b(pb) < i): NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]
    advance (up, while i < crd_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], crd_b = [1]
    ");
}

#[test]
fn decreasing_in_increasing() {
    let study = study("s += a[i] * b[i]", "a=@decreasing b=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while crd_b(pb) < i)
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop refuted by `amortise` (up, while crd_b(pb) < i, state {i}): every query would start again from the beginning of the range
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank (key crd_b(pb) = i, state {})
      scan
      seq (down, while i < crd_b(pb), resume after a match, state {})
      vector refuted by `amortise` (up, while crd_b(pb) < i, state {i}): every query would start again from the beginning of the range
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    advance (up, while crd_b(pb) < i, state {}): NNZ_b = 1, pa = 0, i = 1, pa' = 1, i' = 0, pb = 0, crd_a = [1, 0], crd_b = [0]
    stop (up, while i < crd_b(pb)): NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [0, 1]
    ");
}

#[test]
fn increasing_in_unsorted() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@unsorted", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch refuted by `partition` (while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop refuted by `partition` (up, while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [1, 0]
      scan
      seq refuted by `stop` (up, while crd_b(pb) < i): the walk would stop before a match; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]
      vector refuted by `partition` (up, while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"stop (up, while crd_b(pb) < i): NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]");
}

#[test]
fn unsorted_in_increasing() {
    let study = study("s += a[i] * b[i]", "a=@unsorted b=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while crd_b(pb) < i)
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop refuted by `amortise` (up, while crd_b(pb) < i, state {i}): every query would start again from the beginning of the range
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank (key crd_b(pb) = i, state {})
      scan
      seq refuted by `amortise` (up, while crd_b(pb) < i, state {i}): every query would start again from the beginning of the range
      vector refuted by `amortise` (up, while crd_b(pb) < i, state {i}): every query would start again from the beginning of the range
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    advance (up, while crd_b(pb) < i, state {}): NNZ_b = 1, pa = 0, i = 1, pa' = 1, i' = 0, pb = 0, crd_a = [1, 0], crd_b = [0]
    stop (up, while i < crd_b(pb)): NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [0, 1]
    ");
}

#[test]
fn weakly_increasing_in_increasing() {
    let study = study("s += a[i] * b[i]", "a=@weak b=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while crd_b(pb) < i)
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop (up, while crd_b(pb) < i, state {})
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank (key crd_b(pb) = i, state {})
      scan
      seq (up, while crd_b(pb) < i, state {})
      vector (up, while crd_b(pb) < i, state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    postinc (up, while crd_b(pb) < i, state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 0, pb = 0, crd_a = [0, 0], crd_b = [0]
    stop (up, while i < crd_b(pb)): NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [0, 1]
    advance (down, while i < crd_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], crd_b = [1]
    ");
}

#[test]
fn increasing_in_weakly_increasing() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@weak", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb) (several)
      bsearch (while crd_b(pb) < i, all matches)
      direct refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      expand refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      gallop (up, while crd_b(pb) < i, resume after a match, all matches, state {})
      group (key crd_b(pb) = i, all matches, state {})
      hash (key crd_b(pb) = i, all matches, state {})
      masked refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [0, 0]
      scan (all matches)
      seq (up, while crd_b(pb) < i, resume after a match, all matches, state {})
      vector (up, while crd_b(pb) < i, all matches, state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while i < crd_b(pb)): NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [0, 1]
    advance (down, while i < crd_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], crd_b = [1]
    ");
}

#[test]
fn duplicates_in_any_order() {
    let study = study("s += a[i] * b[i]", "a=@bag b=@bag", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb) (several)
      bsearch refuted by `partition` (while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
      direct refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      expand refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      gallop refuted by `partition` (up, while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
      group (key crd_b(pb) = i, all matches, state {})
      hash (key crd_b(pb) = i, all matches, state {})
      masked refuted by `once`: several positions may have one coordinate; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [0, 0]
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [0, 0]
      scan (all matches)
      seq refuted by `stop` (up, while crd_b(pb) < i): the walk would stop before a match; e.g. NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]
      vector refuted by `partition` (up, while crd_b(pb) < i): the positions to skip do not all come first; e.g. NNZ_b = 2, i = 1, pb = 0, pb' = 1, crd_b = [1, 0]
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"stop (up, while crd_b(pb) < i): NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]");
}

#[test]
fn only_even_coordinates() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@even", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = 2*half_b(pb)
      bsearch (while 2*half_b(pb) < i)
      direct (key 2*half_b(pb) = i, state {})
      expand not applicable: the key is not one element of an array whose range says what it is below
      gallop (up, while 2*half_b(pb) < i, resume after a match, state {})
      group not applicable: at most one position matches
      hash (key 2*half_b(pb) = i, state {})
      masked not applicable: the key is not one element of an array whose range says what it is below
      rank (key 2*half_b(pb) = i, state {})
      scan
      seq (up, while 2*half_b(pb) < i, resume after a match, state {})
      vector (up, while 2*half_b(pb) < i, state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while i < 2*half_b(pb)): NNZ_b = 2, i = 2, pb = 0, pb' = 1, half_b = [0, 1]
    advance (down, while i < 2*half_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 2, pb = 0, crd_a = [0, 2], half_b = [1]
    ");
}

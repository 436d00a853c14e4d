//! Single-valued sets as piecewise quasi-affine functions.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use isl_rs::{DimType, Map, MultiAff, PwMultiAff};

use super::frame::Frame;
use super::set::Set;
use super::{done, read};
use crate::formula::{Affine, Constraint};

/// One case of a piecewise function: where it applies (over parameters and inputs), and its value.
pub type Piece = (Vec<Constraint>, Affine);

unsafe extern "C" {
    // isl-rs leaves out every function that takes a callback. Both arguments of the callback are
    // handed over; the function object itself is only borrowed.
    fn isl_pw_multi_aff_foreach_piece(
        function: usize,
        callback: extern "C" fn(usize, usize, *mut c_void) -> c_int,
        user: *mut c_void,
    ) -> c_int;
}

extern "C" fn collect(domain: usize, value: usize, user: *mut c_void) -> c_int {
    // SAFETY: `user` is the vector that `pieces` passes and outlives the call; isl gives both
    // pointers away, so each is wrapped exactly once. Pushing does not unwind short of an
    // allocation failure, which aborts.
    let out = unsafe { &mut *user.cast::<Vec<(isl_rs::Set, MultiAff)>>() };
    out.push((
        isl_rs::Set { ptr: domain, should_free_on_drop: true },
        MultiAff { ptr: value, should_free_on_drop: true },
    ));
    0
}

fn pieces(function: &PwMultiAff) -> Vec<(isl_rs::Set, MultiAff)> {
    let mut out: Vec<(isl_rs::Set, MultiAff)> = Vec::new();
    // SAFETY: `function` is a live isl object and `out` lives until the call returns.
    let status = unsafe {
        isl_pw_multi_aff_foreach_piece(function.ptr, collect, (&raw mut out).cast::<c_void>())
    };
    assert_eq!(status, 0, "isl lists the pieces of a function");
    out
}

impl Set {
    /// The set as a relation from its first `inputs` dimensions (and the parameters) to the rest.
    fn to_map(&self, inputs: usize) -> Map {
        let dims = self.frame().dims.len();
        assert!(inputs <= dims, "a set of {dims} dimensions has no {inputs} inputs");
        let map = done(Map::from_domain(self.raw()), "read a set as a relation");
        let outputs = (dims - inputs) as u32;
        let moved = map.move_dims(DimType::Out, 0, DimType::In, inputs as u32, outputs);
        done(moved, "split inputs from outputs")
    }

    /// Whether parameters and the first `inputs` dimensions determine the remaining ones.
    pub fn is_single_valued(&self, inputs: usize) -> bool {
        done(self.to_map(inputs).is_single_valued(), "test for a function")
    }

    /// Whether the remaining dimensions (and the parameters) determine the first `inputs` ones.
    pub fn is_injective(&self, inputs: usize) -> bool {
        done(self.to_map(inputs).is_injective(), "test for an injective relation")
    }

    /// The remaining dimensions as functions of the parameters and the first `inputs` dimensions:
    /// for each, the list of its cases. `None` unless [`Set::is_single_valued`]. The cases of one
    /// dimension cover exactly the inputs for which the set has a point.
    pub fn functional(&self, inputs: usize) -> Option<Vec<Vec<Piece>>> {
        let map = self.to_map(inputs);
        if !done(map.is_single_valued(), "test for a function") {
            return None;
        }
        let frame = self.frame();
        let domain =
            Rc::new(Frame { params: frame.params.clone(), dims: frame.dims[..inputs].to_vec() });
        let outputs = frame.dims.len() - inputs;
        let mut out = vec![Vec::new(); outputs];
        let function = done(map.as_pw_multi_aff(), "read a relation as a function");
        for (applies, value) in pieces(&function) {
            let cases = Set::wrap(&domain, applies).constraints();
            for (at, pieces) in out.iter_mut().enumerate() {
                let value = done(value.get_at(at as i32), "get a component of a function");
                let value = read::quotient(&domain.params, &domain.dims, &value);
                pieces.extend(cases.iter().map(|case| (case.clone(), value.clone())));
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn set(params: &[&str], dims: &[&str], text: &str) -> Set {
        let frame = Rc::new(Frame::of_vars(params.iter().copied(), dims.iter().copied()));
        Set::from_dnf(&frame, &parse::formula(text).unwrap().to_dnf()).unwrap()
    }

    fn shown(pieces: &[Piece]) -> Vec<String> {
        pieces
            .iter()
            .map(|(domain, value)| format!("{value} if {}", crate::formula::conjunction(domain)))
            .collect()
    }

    #[test]
    fn a_block_coordinate_is_a_floor_of_its_element() {
        // Two inequalities define the quotient: no equation names it.
        let s = set(
            &["N"],
            &["i", "b", "r"],
            "0 <= i < N and 2*b <= i and i < 2*b + 2 and r = i - 2*b",
        );
        assert!(s.is_single_valued(1));
        let outputs = s.functional(1).unwrap();
        assert_eq!(shown(&outputs[0]), ["floor(i/2) if 0 <= i < N"]);
        assert_eq!(shown(&outputs[1]), ["i - 2*floor(i/2) if 0 <= i < N"]);
    }

    #[test]
    fn an_exact_quotient_keeps_its_stride_as_a_condition() {
        let s = set(&[], &["i", "p"], "i = 3*p + 1 and 0 <= p < 9");
        assert!(s.is_single_valued(1) && s.is_injective(1));
        let outputs = s.functional(1).unwrap();
        assert_eq!(outputs[0].len(), 1);
        let (domain, value) = &outputs[0][0];
        for i in -5..40_i64 {
            let at = |a: &Affine| a.substitute(&|_| Some(Affine::constant(i)));
            let applies = domain.iter().all(|c| c.map(at).as_bool().unwrap());
            assert_eq!(applies, (0..9).any(|p| i == 3 * p + 1), "at {i}");
            if applies {
                assert_eq!(at(value).as_constant(), Some((i - 1) / 3));
            }
        }
    }

    #[test]
    fn a_function_may_have_several_pieces() {
        let text = "0 <= i < N and (i < 4 and p = i or i >= 4 and p = 2*i - 4)";
        let mut pieces = shown(&set(&["N"], &["i", "p"], text).functional(1).unwrap()[0]);
        pieces.sort();
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].starts_with("2*i - 4 if "), "{pieces:?}");
        assert!(pieces[1].starts_with("i if "), "{pieces:?}");
    }

    #[test]
    fn a_range_is_not_a_function() {
        let s = set(&["lo", "hi"], &["i"], "lo <= i < hi");
        assert!(!s.is_single_valued(0) && s.functional(0).is_none());
    }

    #[test]
    fn without_inputs_the_parameters_determine_the_value() {
        let s = set(&["x"], &["q"], "2*q <= x and x <= 2*q + 1");
        assert_eq!(shown(&s.functional(0).unwrap()[0]), ["floor(x/2) if true"]);
    }
}

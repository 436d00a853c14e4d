//! Tensors and times as commands print them.

use std::time::Duration;

use siskin::tensor::Tensor;

/// `csr, 4 × 5, 7 stored`
pub fn shape(t: &Tensor) -> String {
    shape_storing(t, t.stored())
}

/// The same with the number of elements that are stored: positions may hold none.
pub fn shape_storing(t: &Tensor, stored: usize) -> String {
    let dims: Vec<String> = t.dims().iter().map(ToString::to_string).collect();
    let dims = if dims.is_empty() { "scalar".to_string() } else { dims.join(" × ") };
    format!("{}, {dims}, {stored} stored", t.layout().name)
}

/// `1.23 ms`
pub fn time(t: Duration) -> String {
    let s = t.as_secs_f64();
    match s {
        _ if s >= 1.0 => format!("{s:.2} s"),
        _ if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        _ => format!("{:.2} µs", s * 1e6),
    }
}

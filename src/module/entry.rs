//! The entries for C: one that checks, one that does not.

use super::scope::Scope;
use super::signature::Signature;
use crate::code::{Doc, Lines};

/// `entry` is the name of the unchecked entry; the checking one ends in `_checked`.
pub(super) fn items(signature: &Signature, entry: &str, scope: Scope) -> String {
    let mut out = Lines::default();
    out.raw(RAW_ARRAY);
    out.blank();
    out.line("/// [`kernel_unchecked`] for C. For each tensor, in this order, `sizes` holds its dimensions");
    out.line("/// and counted sizes, `arrays` its index arrays and its values:");
    let names: Vec<String> =
        signature.tensors.iter().map(|t| format!("`{}`", t.argument)).collect();
    out.line(&format!("/// {}.", names.join(", ")));
    out.line("///");
    out.line("/// # Safety");
    out.line("/// As for [`kernel_unchecked`]; every array has the element type of its field.");
    head(entry, "", signature, &mut out);
    bindings(signature, &mut out);
    out.statement(&Doc::call("kernel_unchecked", passed(signature)));
    out.close("");
    out.close("");
    if scope == Scope::Whole {
        checking(signature, entry, &mut out);
    }
    let reads = signature.tensors.iter().any(|t| !t.written || !t.grown && !t.arrays.is_empty());
    if reads {
        out.raw(SLICE);
    }
    if signature.tensors.iter().any(|t| t.grown) {
        out.raw(GROWN);
    }
    if signature.tensors.iter().any(|t| t.written && !t.grown) {
        out.raw(SLICE_MUT);
    }
    out.into_text()
}

/// The entry that checks, with an empty line before it.
fn checking(signature: &Signature, entry: &str, out: &mut Lines) {
    out.blank();
    out.line("/// [`kernel`] for C: 0 if it ran, 1 if a tensor was refused.");
    out.line("///");
    out.line("/// # Safety");
    out.line("/// `sizes` and `arrays` are as long as the signature says; every array has the length that it");
    out.line("/// claims and the element type of its field.");
    head(&format!("{entry}_checked"), "i32", signature, out);
    bindings(signature, out);
    let refused = Doc::call("kernel", passed(signature)).method("is_err", Vec::new());
    out.result(&Doc::call("i32::from", vec![refused]));
    out.close("");
    out.close("");
}

/// The signature, and the start of the block.
fn head(name: &str, result: &str, signature: &Signature, out: &mut Lines) {
    out.line("#[unsafe(no_mangle)]");
    out.line("#[allow(non_snake_case)]");
    // Scalars have no sizes.
    let sizes = if signature.arity().0 == 0 { "_sizes" } else { "sizes" };
    let parameters = [format!("{sizes}: *const usize"), "arrays: *const RawArray".to_string()];
    out.function(&format!("pub unsafe extern \"C\" fn {name}"), &parameters, result);
    out.open("unsafe");
}

fn size(k: usize) -> Doc {
    Doc::prefix("*", Doc::text("sizes").method("add", vec![Doc::text(k.to_string())]))
}

/// The structs out of the arguments.
fn bindings(signature: &Signature, out: &mut Lines) {
    let (mut sizes, mut arrays) = (0, 0);
    let mut next_size = || {
        sizes += 1;
        size(sizes - 1)
    };
    let mut next_array = |slice: &str| {
        arrays += 1;
        let at = Doc::text((arrays - 1).to_string());
        Doc::call(slice, vec![Doc::prefix("*", Doc::text("arrays").method("add", vec![at]))])
    };
    for t in &signature.tensors {
        let mutable = t.written;
        let binding = if mutable { "let mut" } else { "let" };
        out.open(&format!("{binding} {} = {}", t.argument, t.struct_name()));
        let dims = (0..t.layout.rank()).map(|_| next_size()).collect();
        out.struct_field("dims", &Doc::Array(dims));
        for (_, field, _) in &t.counts {
            out.struct_field(field, &next_size());
        }
        for a in &t.arrays {
            out.struct_field(&a.field, &next_array(if t.grown { "grown" } else { "slice" }));
        }
        let slice = match (t.grown, mutable) {
            (true, _) => "grown",
            (false, true) => "slice_mut",
            (false, false) => "slice",
        };
        out.struct_field(&t.values.field, &next_array(slice));
        out.close(";");
    }
}

/// The arguments of the kernel: the structs, extents, threads.
fn passed(signature: &Signature) -> Vec<Doc> {
    let mut out: Vec<Doc> = signature
        .tensors
        .iter()
        .map(|t| match t.written {
            true => Doc::prefix("&mut ", Doc::text(t.argument.clone())),
            false => Doc::prefix("&", Doc::text(t.argument.clone())),
        })
        .collect();
    let others = signature.extents.len() + usize::from(signature.threads);
    let (all, _) = signature.arity();
    out.extend((all - others..all).map(size));
    out
}

const RAW_ARRAY: &str = "\
/// A borrowed array across the C boundary.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawArray {
    pub data: *mut u8,
    /// Number of elements.
    pub len: usize,
}
";

const SLICE: &str = "
unsafe fn slice<'a, T>(raw: RawArray) -> &'a [T] {
    if raw.len == 0 {
        return &[];
    }
    // SAFETY: the caller of the entry says so.
    unsafe { std::slice::from_raw_parts(raw.data.cast(), raw.len) }
}
";

const GROWN: &str = "
unsafe fn grown<'a, T>(raw: RawArray) -> &'a mut Grown<T> {
    // SAFETY: the caller of the entry says that it points to an array that grows.
    unsafe { &mut *raw.data.cast() }
}
";

const SLICE_MUT: &str = "
unsafe fn slice_mut<'a, T>(raw: RawArray) -> &'a mut [T] {
    if raw.len == 0 {
        return &mut [];
    }
    // SAFETY: the caller of the entry says so.
    unsafe { std::slice::from_raw_parts_mut(raw.data.cast(), raw.len) }
}
";

//! What shipped operators compute, written down by hand.

use siskin::operators::Value;
use siskin::tensor::ValueType;

use super::shipped;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Bit by bit, one NaN as good as another.
fn assert_is(call: &str, found: Option<Value>, expected: Value) {
    let found = found.unwrap_or_else(|| panic!("{call} has no value"));
    assert!(found.identical(expected), "{call} = {found:?}, not {expected:?}");
}

/// Checks rows `name, arguments => result` of one type.
macro_rules! table {
    ($variant:ident => $result:ident: $($name:ident($($argument:expr),*) = $value:expr;)*) => {
        $({
            let arguments = [$(Value::$variant($argument)),*];
            let op = shipped().named(stringify!($name)).unwrap();
            let call = format!("{}{arguments:?}", stringify!($name));
            assert_is(&call, op.eval(&arguments), Value::$result($value));
        })*
    };
}

#[test]
fn operators_on_floats_are_those_of_ieee_and_numpy() {
    table! { F64 => F64:
        add(INF, -INF) = NAN; add(-0.0, 0.0) = 0.0; sub(1.5, 2.0) = -0.5; mul(0.0, INF) = NAN;
        mul(-3.0, 0.0) = -0.0; div(1.0, 0.0) = INF; div(-1.0, 0.0) = -INF; div(0.0, 0.0) = NAN;
        neg(0.0) = -0.0; min(NAN, 1.0) = 1.0; min(2.0, -INF) = -INF; max(1.0, NAN) = 1.0;
        max(NAN, NAN) = NAN; abs(-0.0) = 0.0; abs(-INF) = INF; sqrt(4.0) = 2.0; sqrt(-1.0) = NAN;
        sqrt(-0.0) = -0.0; exp(0.0) = 1.0; exp(-INF) = 0.0; log(1.0) = 0.0; log(0.0) = -INF;
        log(-1.0) = NAN; sin(0.0) = 0.0; cos(0.0) = 1.0; sin(INF) = NAN; floor(-1.5) = -2.0;
        ceil(-1.5) = -1.0; ceil(-0.5) = -0.0; round(0.5) = 0.0; round(1.5) = 2.0; round(2.5) = 2.0;
        round(-2.5) = -2.0; sign(-3.5) = -1.0; sign(-0.0) = 0.0; sign(NAN) = NAN; sign(INF) = 1.0;
        mod(5.0, 3.0) = 2.0; mod(-5.0, 3.0) = 1.0; mod(5.0, -3.0) = -1.0; mod(-5.0, -3.0) = -2.0;
        mod(-6.0, 3.0) = 0.0; mod(6.0, -3.0) = -0.0; mod(1.0, 0.0) = NAN; mod(-5.0, INF) = INF;
        mod(5.0, INF) = 5.0; mod(INF, 2.0) = NAN; pow(2.0, 10.0) = 1024.0; pow(NAN, 0.0) = 1.0;
        pow(1.0, NAN) = 1.0; pow(0.0, -1.0) = INF; pow(-8.0, 0.5) = NAN;
    }
    table! { F64 => Bool:
        eq(NAN, NAN) = false; ne(NAN, NAN) = true; eq(0.0, -0.0) = true; lt(1.0, NAN) = false;
        ge(1.0, NAN) = false; le(-INF, INF) = true; gt(2.0, 1.0) = true; and(0.5, NAN) = true;
        or(0.0, -0.0) = false; xor(1.0, 2.0) = false; not(0.0) = true; not(NAN) = false;
    }
    table! { F32 => F32:
        add(1.0, 1e-9) = 1.0; div(1.0, 3.0) = 1.0 / 3.0; sqrt(2.0) = 2.0_f32.sqrt();
        exp(1.0) = 1.0_f32.exp(); mod(-1.0, 3.0) = 2.0;
    }
}

#[test]
fn operators_on_integers_wrap_and_have_a_value_for_all_arguments() {
    const LEAST: i32 = i32::MIN;
    table! { I32 => I32:
        add(i32::MAX, 1) = LEAST; sub(LEAST, 1) = i32::MAX; mul(LEAST, -1) = LEAST; neg(LEAST) = LEAST;
        min(3, -3) = -3; max(LEAST, 0) = 0; abs(LEAST) = LEAST; abs(-5) = 5; floor(-7) = -7; ceil(7) = 7;
        round(7) = 7; sign(LEAST) = -1; sign(0) = 0; sign(9) = 1; mod(5, 3) = 2; mod(-5, 3) = 1;
        mod(5, -3) = -1; mod(-5, -3) = -2; mod(6, -3) = 0; mod(7, 0) = 0; mod(LEAST, -1) = 0;
        pow(3, 4) = 81; pow(2, 31) = LEAST; pow(2, 32) = 0; pow(7, 0) = 1; pow(0, 0) = 1; pow(2, -1) = 0;
        pow(-1, -3) = -1; pow(-1, LEAST) = 1; pow(1, -9) = 1; pow(0, -1) = 0; pow(3, i32::MAX) = -1_431_655_765;
        gcd(12, -18) = 6; gcd(0, 0) = 0; gcd(0, -7) = 7; gcd(LEAST, 0) = LEAST; gcd(LEAST, -1) = 1;
        shl(1, 31) = LEAST; shl(1, 32) = 0; shl(1, -1) = 0; shl(5, i32::MAX) = 0; shr(-8, 1) = -4;
        shr(-8, 40) = -1; shr(8, 40) = 0; shr(-8, -1) = -1; shr(8, LEAST) = 0; band(-1, 6) = 6;
        bor(4, 3) = 7; bxor(-1, 1) = -2;
    }
    table! { I64 => I64:
        add(i64::MAX, 1) = i64::MIN; shl(1, 63) = i64::MIN; shl(1, 1 << 32) = 0; shr(i64::MIN, 63) = -1;
        pow(3, 40) = 12_157_665_459_056_928_801_u64 as i64; gcd(1 << 40, 1 << 35) = 1 << 35;
        mod(i64::MIN, -1) = 0;
    }
    table! { U8 => U8:
        add(255, 1) = 0; sub(0, 1) = 255; mul(16, 16) = 0; neg(1) = 255; abs(200) = 200; sign(9) = 1;
        sign(0) = 0; mod(7, 0) = 0; mod(7, 4) = 3; pow(2, 8) = 0; pow(3, 5) = 243; gcd(12, 18) = 6;
        shl(1, 7) = 128; shl(1, 8) = 0; shr(128, 7) = 1; shr(128, 255) = 0; bxor(255, 1) = 254;
    }
    table! { I32 => F64:
        div(1, 2) = 0.5; div(1, 0) = INF; sqrt(9) = 3.0; log(0) = -INF; exp(0) = 1.0; cos(0) = 1.0;
    }
    table! { I32 => Bool: and(2, 4) = true; lt(-1, 0) = true; not(7) = false; xor(0, 5) = true; }
    table! { Bool => Bool:
        add(true, true) = true; mul(true, false) = false; min(true, false) = false; max(true, false) = true;
        abs(true) = true; floor(true) = true; lt(false, true) = true; le(true, false) = false;
        gt(true, false) = true; ge(false, true) = false; eq(true, true) = true; ne(true, true) = false;
        band(true, true) = true; bor(false, true) = true; bxor(true, true) = false; xor(true, false) = true;
    }
}

#[test]
fn a_scaled_float_is_rounded_once() {
    let op = shipped().named("ldexp").unwrap();
    // Powers of two by their bits, and exact arithmetic in a wider range.
    let bits = |e: i64| f64::from_bits(((e + 1023) as u64) << 52);
    for (a, n, expected) in [
        (1.0, 3, 8.0),
        (1.0, -1074, f64::from_bits(1)),
        (1.5, -1074, f64::from_bits(2)),
        (1.25, -1074, f64::from_bits(1)),
        (1.0, -1075, 0.0),
        (1.0, 1023, bits(1023)),
        (1.0, 1024, INF),
        (f64::from_bits(1), 2097, bits(1023)),
        (f64::MAX, -2099, f64::from_bits(0)),
        (f64::MAX, -2098, f64::from_bits(1)),
        (-0.0, 5, -0.0),
        (0.0, i64::MAX, 0.0),
        (3.0, i64::MIN, 0.0),
        (INF, i64::MIN, INF),
        (NAN, 1, NAN),
    ] {
        let found = op.eval(&[Value::F64(a), Value::I64(n)]);
        assert_is(&format!("ldexp({a:e}, {n})"), found, Value::F64(expected));
    }
    let found = op.eval(&[Value::F32(1.5), Value::I32(-149)]);
    assert_is("ldexp", found, Value::F32(f32::from_bits(2)));
    let found = op.eval(&[Value::F32(f32::from_bits(1)), Value::U8(200)]);
    assert_is("ldexp", found, Value::F32(2.0_f32.powi(51)));
    assert!(op.signature(&[ValueType::F64, ValueType::F64]).is_err());
}

#[test]
fn arguments_of_several_types_meet_before_anything_is_computed() {
    let eval = |name: &str, arguments: &[Value]| shipped().named(name).unwrap().eval(arguments);
    assert_is("min", eval("min", &[Value::I32(3), Value::F32(2.5)]), Value::F64(2.5));
    assert_is("add", eval("add", &[Value::U8(255), Value::I32(1)]), Value::I32(256));
    assert_is("add", eval("add", &[Value::Bool(true), Value::U8(1)]), Value::U8(2));
    assert_is("div", eval("div", &[Value::Bool(true), Value::F32(2.0)]), Value::F32(0.5));
    let chosen = eval("select", &[Value::F64(0.5), Value::I32(1), Value::I64(2)]);
    assert_is("select", chosen, Value::I64(1));
    let least = eval("min", &[Value::I32(3), Value::I32(1), Value::I32(2)]);
    assert_is("min", least, Value::I32(1));
}

#[test]
fn an_operator_that_a_type_lacks_is_refused_with_the_types_that_have_it() {
    let e =
        shipped().named("shl").unwrap().signature(&[ValueType::F64, ValueType::I32]).unwrap_err();
    assert_eq!(e.message, "`shl` does not exist for f64");
    assert_eq!(e.help.as_deref(), Some("it exists for i64, i32, u8"));
    let e = shipped().named("sub").unwrap().signature(&[ValueType::Bool; 2]).unwrap_err();
    assert_eq!(e.help.as_deref(), Some("it exists for f64, f32, i64, i32, u8"));
    let e = shipped().named("sub").unwrap().signature(&[ValueType::F64; 3]).unwrap_err();
    assert_eq!(e.message, "`sub` has 2 arguments, not 3");
    let e = shipped().named("flor").unwrap_err();
    assert!(e.help.as_ref().unwrap().starts_with("did you mean `floor`?"), "{e}");
}

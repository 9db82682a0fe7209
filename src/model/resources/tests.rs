use super::*;
use proptest::prelude::*;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, MapDeserializer};

fn read<T: for<'de> Deserialize<'de>>(field: &'static str, value: f64) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new([(field, value)].into_iter()))
}

fn integer<T: for<'de> Deserialize<'de>>(field: &'static str, value: i64) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new([(field, value)].into_iter()))
}

struct Text(Amount);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

#[test]
fn amounts_read_as_numbers() {
    assert_eq!(read("cpus", 1.5), Ok(Resources::default().cpus(1.5)));
    assert_eq!(
        read("gpus", 0.25),
        Ok(Resources::default().gpu_fraction(0.25))
    );
    assert_eq!(integer("cpus", 3), Ok(Resources::default().cpus(3)));
    assert_eq!(integer("slots", 2), Ok(Resources::slots(2)));
    assert_eq!(Text(1.5.into_amount()).to_string(), "1.5");
    assert_eq!(Text(Amount::from(3)).to_string(), "3");
}

#[test]
fn nonsense_is_refused() {
    assert!(integer::<Resources>("slots", 0).is_err());
    assert!(integer::<Resources>("cpus", -1).is_err());
    assert!(integer::<Resources>("cpu", 1).is_err());
    assert!(integer::<Capacity>("gpu", 1).is_err());
    assert!(read::<Resources>("cpus", 1e40).is_err());
    assert!(read::<Resources>("gpus", 1.5).is_err());
}

#[test]
fn bad_floats_are_kept_as_invalid() {
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(!Resources::default().cpus(bad).cpus_asked().is_valid());
        assert_eq!(Capacity::slots(1).cpus(bad).cpu_count(), Amount::ZERO);
    }
    assert!(
        !Resources::default()
            .gpu_fraction(1.5)
            .gpus_asked()
            .is_valid()
    );
    assert_eq!(Amount::try_from(1e-9).unwrap().ten_thousandths(), 1);
    assert_eq!(Amount::try_from(1.1).unwrap().to_string(), "1.1");
    assert_eq!(Resources::slots(0), Resources::default());
}

proptest! {
    #[test]
    fn amounts_survive_text(raw in 0..2_000_000_000_000_000u64) {
        let amount = Amount::from_ten_thousandths(raw);
        let number: f64 = Text(amount).to_string().parse().unwrap();
        let from = IntoDeserializer::<Error>::into_deserializer(number);
        prop_assert_eq!(Amount::deserialize(from), Ok(amount));
    }
}

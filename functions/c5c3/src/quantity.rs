//! Kubernetes quantities.

/// The number of bytes or cores that a quantity such as `500Ti`, `1.5T` or `250m` stands for; None where it isn't one.
pub fn amount(quantity: &str) -> Option<f64> {
    const KIBI: f64 = 1024.0;
    let digits = quantity.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match quantity.get(digits.len()..)? {
        "" => 1.0,
        "m" => 1e-3,
        "Ki" => KIBI,
        "Mi" => KIBI.powi(2),
        "Gi" => KIBI.powi(3),
        "Ti" => KIBI.powi(4),
        "Pi" => KIBI.powi(5),
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        _ => return None,
    };
    digits
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .map(|number| number * unit)
}

/// Bytes as a quantity of whole GiB, rounded down.
pub fn gibibytes(bytes: u64) -> String {
    format!("{}Gi", bytes >> 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_both_bases() {
        assert_eq!(amount("500Ti"), Some(500.0 * 1024_f64.powi(4)));
        assert_eq!(amount("1.5T"), Some(1.5e12));
        assert_eq!(amount("7"), Some(7.0));
        assert_eq!(amount("250m"), Some(0.25));
        assert_eq!(amount("many"), None);
        assert_eq!(amount("1Zi"), None);
    }
}

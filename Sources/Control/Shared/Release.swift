/// Which release of the project this is.
public enum Release {
    /// Its version, by https://semver.org.
    public static let version = "0.1.0"
}

/// The release of the project.
public enum Release {
    /// The version, by https://semver.org.
    public static let version = "0.1.0"
}

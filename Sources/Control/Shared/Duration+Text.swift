import ConcurrencySupport

extension Duration {
    /// The duration's two largest units that aren't zero: `3d4h`, `5m12s`, `42s`, and milliseconds below a second.
    public var briefText: String {
        let milliseconds = wholeMilliseconds
        let seconds = milliseconds / 1000
        guard seconds > 0 else { return "\(max(0, milliseconds))ms" }
        let parts = [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")]
        let shown = parts.drop { $0.0 == 0 }.prefix(2)
        return shown.filter { $0.0 != 0 }.map { "\($0.0)\($0.1)" }.joined()
    }
}

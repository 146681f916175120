import Glibc

/// The connection of a standard stream to systemd's journal.
enum Journal {
    /// Whether a descriptor is the stream that `JOURNAL_STREAM` names by its device and number, see systemd.exec(5).
    static func isBehind(_ descriptor: Int32, _ variable: String?) -> Bool {
        var status = stat()
        guard let variable, fstat(descriptor, &status) == 0 else { return false }
        return variable == "\(status.st_dev):\(status.st_ino)"
    }
}

extension ConfigurationReader {
    /// The largest number of former log files.
    private static let maximumKeep = 99
    /// The smallest size of a log file that isn't 0: a line has up to 8 KiB.
    private static let minimumSize: Int64 = 16 << 10

    /// Reads the logging of the file or of a child.
    ///
    /// - Parameters:
    ///   - defaults: the values of omitted keys.
    ///   - content: the child; nil for the file.
    mutating func logging(
        _ node: YAMLNode,
        _ defaults: LoggingConfiguration = LoggingConfiguration(),
        of content: ConfiguredChild.Content? = nil,
        isOfFile: Bool
    ) -> LoggingConfiguration {
        var logging = defaults
        let keys = ["directory", "file", "format", "maximum_size", "keep", "standard_error", "to_daemon"]
        guard let fields = self.fields(node, "`logging`", keys: keys) else { return logging }
        if let destination = destination(fields, isOfFile: isOfFile) { logging.destination = destination }
        if let format: LoggingConfiguration.Format = fields["format"].flatMap({ self.choice($0, "`format`") }) { logging.format = format }
        if let size = fields["maximum_size"].flatMap({ self.logSize($0) }) { logging.maximumSize = size }
        if let keep = fields["keep"].flatMap({ self.wholeNumber($0, "`keep`", in: 0...Self.maximumKeep) }) { logging.keep = keep }
        if let node = fields["standard_error"], let errors: LoggingConfiguration.StandardError = choice(node, "`standard_error`") {
            logging.standardError = errors
            if errors == .separate, case .worker? = content {
                let reason = "a worker has one stream, which survives the daemon"
                report(at: node.mark, "`standard_error` is `separate`, but \(reason); expected together")
            }
        }
        if let toDaemon = fields["to_daemon"].flatMap({ self.truth($0, "`to_daemon`") }) { logging.goesToDaemon = toDaemon }
        return logging
    }

    private mutating func destination(_ fields: Fields, isOfFile: Bool) -> LoggingConfiguration.Destination? {
        if let node = fields["file"] {
            guard let file = path(node, "`file`", expected: "the path of the log file, or none") else { return nil }
            if fields["directory"] != nil { report(at: node.mark, "`logging` has both `directory` and `file`; expected one of them") }
            if file == "none" { return LoggingConfiguration.Destination.none }
            if isOfFile {
                report(at: node.mark, "`file` is for one child, and this `logging` is for all; expected `directory`, or `file: none`")
            }
            checkPlace(file, at: node)
            return .file(file)
        }
        guard let node = fields["directory"] else { return nil }
        guard let directory = path(node, "`directory`", expected: "the path of a directory") else { return nil }
        checkPlace("\(directory)/child.log", at: node)
        return .directory(directory)
    }

    private mutating func logSize(_ node: YAMLNode) -> Int64? {
        let expected = "a whole number and a unit, such as 512KiB, 10MiB or 1GiB, or 0 for a file that isn't rotated"
        if case .integer(0)? = node.plain { return 0 }
        guard let size = node.text.flatMap({ Self.size($0) }) else {
            report(at: node.mark, "`maximum_size` is \(node.summary), which isn't a size; expected \(expected)")
            return nil
        }
        guard size >= Self.minimumSize else {
            report(at: node.mark, "`maximum_size` is \(size) bytes; expected at least \(Self.minimumSize / 1024)KiB, or 0")
            return nil
        }
        return size
    }

    /// Reads a size: a whole number and KiB, MiB or GiB, or a power of ten: KB, MB, GB.
    private static func size(_ text: String) -> Int64? {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard (1...9).contains(digits.count), let count = Int64(String(text.prefix(digits.count))) else { return nil }
        let units: [String: Int64] = [
            "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000,
        ]
        return units[String(text.dropFirst(digits.count))].map { count * $0 }
    }
}

/// What becomes of the output of a child.
public struct LoggingConfiguration: Codable, Hashable, Sendable {
    /// The places of log files.
    public enum Destination: Codable, Hashable, Sendable {
        /// A file in this directory, which is named after the child's path.
        case directory(String)
        /// This file.
        case file(String)
        /// No file.
        case none
    }

    /// The formats of log files.
    public enum Format: String, Codable, Hashable, Sendable, CaseIterable {
        /// `TIME STREAM TAGS TEXT`, as Kubernetes' container runtimes write it.
        case lines
        /// A JSON object for each line.
        case json
        /// The lines as the child has written them, and nothing else.
        case raw
    }

    /// What the daemon's own output has of a child's lines.
    public enum DaemonCopy: String, Codable, Hashable, Sendable, CaseIterable {
        /// Nothing.
        case none
        /// Each line, on standard error, with the child's path: before it, or in an object when the daemon's log is JSON.
        case labelled
        /// The lines as the child has written them, on the stream to which it has written them.
        case raw
    }

    /// The ways to capture standard error.
    public enum StandardError: String, Codable, Hashable, Sendable, CaseIterable {
        /// With standard output, in the order in which both were written.
        case together
        /// By itself, so that each line tells its stream.
        case separate
    }

    /// The place of the file; nil means the directory `logs` in the runtime directory.
    public var destination: Destination?
    /// The format of the file.
    public var format = Format.lines
    /// The size at which the file is rotated, in bytes; 0 means never.
    public var maximumSize: Int64 = 10 << 20
    /// The number of former files that are kept, as `.1`, `.2` and so on.
    public var keep = 5
    /// The way to capture standard error.
    public var standardError = StandardError.together
    /// What the daemon's own output has of the lines.
    public var daemonCopy = DaemonCopy.labelled
    /// The permissions of the files; nil means 0600.
    public var mode: UInt32?
    /// The user or the group of the files, as `user`, `user:group` or `:group`; nil means the daemon's.
    public var owner: String?

    /// Creates a configuration with its defaults.
    public init() {}
}

extension DaemonConfiguration {
    /// Returns the logging of the child at a path; of one that the file doesn't list, that of its nearest ancestor, else that of the file.
    ///
    /// A `file` of a child with instances, or below one, is a file for each of them: `web.log` becomes `web-1.log`, unless the name says
    /// by `{instance}` where the number belongs.
    public func logging(of path: String) -> LoggingConfiguration {
        var (siblings, logging) = (children, logging)
        var (number, instance) = ("", InstanceNumber?.none)
        for key in path.split(separator: "/").map(String.init) {
            guard let child = siblings.first(where: { $0.instanceKeys.contains(key) }) else { break }
            logging = child.logging ?? logging
            if let instances = child.instances {
                number += key.dropFirst(child.key.utf8.count)
                instance = Int(key.dropFirst(child.key.utf8.count + 1)).map { InstanceNumber($0, of: instances) }
            }
            guard case .group(let group) = child.content else { break }
            siblings = group.children
        }
        switch logging.destination {
        case .file(let file)? where instance != nil && file.namesInstance: logging.destination = .file(instance?.filling(file) ?? file)
        case .file(let file)?: logging.destination = .file(Self.inserting(number, into: file))
        case .directory(let path)?: logging.destination = .directory(instance?.filling(path) ?? path)
        case LoggingConfiguration.Destination.none?, nil: break
        }
        return logging
    }

    /// Whether there are children whose log files have no place of their own.
    public var usesLogDirectory: Bool { logging.destination == nil && !children.isEmpty }

    /// The log files that several children have.
    public var sharedLogFiles: Set<String> {
        var counts: [String: Int] = [:]
        count(logFiles: &counts, of: children, logging, number: "")
        return Set(counts.filter { $0.value > 1 }.keys)
    }

    private func count(
        logFiles counts: inout [String: Int],
        of children: [ConfiguredChild],
        _ logging: LoggingConfiguration,
        number: String
    ) {
        for child in children {
            let logging = child.logging ?? logging
            for key in child.instanceKeys {
                let number = child.instances == nil ? number : number + key.dropFirst(child.key.utf8.count)
                if case .group(let group) = child.content {
                    count(logFiles: &counts, of: group.children, logging, number: number)
                } else if case .file(let file) = logging.destination {
                    counts[Self.inserting(number, into: file), default: 0] += 1
                }
            }
        }
    }

    /// Returns the path of a file with a number at the end of its name, before the extension.
    private static func inserting(_ number: String, into file: String) -> String {
        if number.isEmpty { return file }
        let name = file.lastIndex(of: "/").map { file.index(after: $0) } ?? file.startIndex
        guard let period = file[name...].lastIndex(of: "."), period > name else { return file + number }
        return String(file[..<period] + number + file[period...])
    }
}

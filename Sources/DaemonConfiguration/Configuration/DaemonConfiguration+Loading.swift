import Glibc
package import Processes

extension DaemonConfiguration {
    /// The size of the largest file, in bytes; a larger file isn't a configuration that a person wrote.
    static let maximumFileSize = 1 << 20

    /// Reads the file at `path`; a relative path is relative to the working directory.
    ///
    /// Blocks while the file is read. The file may be a pipe, so `--config <(generate)` works.
    ///
    /// - Parameter checkingFiles: whether executables and directories that aren't there are problems too. The daemon starts without them, and
    ///   tries again: they may appear later.
    /// - Throws: the problems of the file; an unreadable file is one.
    public static func load(path: String, checkingFiles: Bool = false) throws(ConfigurationError) -> DaemonConfiguration {
        try parse(bytes: try contents(ofFile: path, allowsPipes: true), file: path, checkingFiles: checkingFiles)
    }

    /// Reads the file at `path` as ``load(path:checkingFiles:)`` does, and its text, from which the same configuration can be read later.
    ///
    /// - Parameter account: The account as whose the files are opened; nil: this process's, for which the file may be a pipe.
    package static func read(
        path: String,
        as account: Account? = nil,
        allowsPipes: Bool = false,
        checkingFiles: Bool = false
    ) throws(ConfigurationError) -> (configuration: DaemonConfiguration, text: String) {
        let text = try SourceText.decode(try contents(ofFile: path, allowsPipes: allowsPipes, as: account), file: path)
        let read = try read(text: text, file: path, as: account, checkingFiles: checkingFiles)
        return (read.configuration, read.text)
    }

    /// Reads the file at `path`, and the places of what it says.
    ///
    /// - Parameter account: The account as whose the files are opened; nil: this process's.
    package static func readWithPlaces(
        path: String,
        as account: Account? = nil,
        checkingFiles: Bool = false
    ) throws(ConfigurationError) -> (configuration: DaemonConfiguration, text: String, places: ConfigurationPlaces) {
        let text = try SourceText.decode(try contents(ofFile: path, as: account), file: path)
        return try read(text: text, file: path, as: account, checkingFiles: checkingFiles)
    }

    /// Returns the text of the file at `path`, which ``parse(text:file:checkingFiles:)`` reads; that of one that includes others has their
    /// children.
    ///
    /// Blocks while the file is read.
    ///
    /// - Parameter allowsPipes: whether the file may be a pipe, whose writer decides how long the call takes.
    /// - Throws: a problem when the file can't be read, or isn't UTF-8.
    public static func text(path: String, allowsPipes: Bool = false) throws(ConfigurationError) -> String {
        try complete(try SourceText.decode(try contents(ofFile: path, allowsPipes: allowsPipes), file: path), file: path)
    }

    /// Returns the text of the file at `path`, as an account's user may read it, or without an account as this process may.
    package static func text(path: String, as account: Account?) throws(ConfigurationError) -> String {
        try complete(try SourceText.decode(try contents(ofFile: path, as: account), file: path), file: path, as: account)
    }

    /// Returns a text with the children of the files that it includes; most texts include none.
    private static func complete(_ text: String, file: String, as account: Account? = nil) throws(ConfigurationError) -> String {
        text.contains("include") ? try read(text: text, file: file, as: account, checkingFiles: false).text : text
    }

    /// Reads a configuration from `text`; `file` is the name that problems show.
    ///
    /// - Throws: the problems of the text.
    public static func parse(text: String, file: String) throws(ConfigurationError) -> DaemonConfiguration {
        try parse(text: text, file: file, checkingFiles: false)
    }

    /// Reads a configuration from `text`; `file` is the name that problems show.
    ///
    /// - Parameter checkingFiles: as of ``load(path:checkingFiles:)``.
    /// - Throws: the problems of the text.
    public static func parse(text: String, file: String, checkingFiles: Bool) throws(ConfigurationError) -> DaemonConfiguration {
        try read(text: text, file: file, checkingFiles: checkingFiles).configuration
    }

    private static func read(
        text: String,
        file: String,
        as account: Account? = nil,
        checkingFiles: Bool
    ) throws(ConfigurationError) -> (configuration: DaemonConfiguration, text: String, places: ConfigurationPlaces) {
        let root = try YAMLComposer.compose(text, file: file)
        var reader = ConfigurationReader(file: file, checksFiles: checkingFiles, as: account)
        var (configuration, whole) = (DaemonConfiguration?.none, text)
        var places = ConfigurationPlaces(file: file, root: nil)
        if let root, root.plain != .null {
            if reader.checkTree(root, size: text.utf8.count) {
                let complete = reader.complete(root, size: text.utf8.count)
                configuration = reader.read(Keys.file, complete, "the file")?.subject
                places = ConfigurationPlaces(file: file, root: complete)
                if root["include"] != nil { whole = complete.without("include").flowText }
                if whole.utf8.count > maximumFileSize {
                    let problem = "the file has more than \(maximumFileSize) bytes with all that it includes"
                    reader.report(at: root.mark, "\(problem); expected fewer")
                }
            }
        } else {
            reader.report(at: Mark(), "the file is empty; expected a mapping with `children`")
        }
        guard let configuration, reader.problems.isEmpty else {
            throw ConfigurationError(problems: reader.problemsInFileOrder)
        }
        return (configuration, whole, places)
    }

    /// Reads a file that has the mapping of `cluster` alone.
    ///
    /// - Throws: the problems of the file; an unreadable file is one.
    public static func cluster(path: String) throws(ConfigurationError) -> ClusterConfiguration {
        let text = try text(path: path)
        let root = try YAMLComposer.compose(text, file: path)
        var reader = ConfigurationReader(file: path)
        var cluster: ClusterConfiguration?
        if let root {
            if reader.checkTree(root, size: text.utf8.count) { cluster = reader.read(Keys.cluster, root, "the file")?.subject }
        } else {
            reader.report(at: Mark(), "the file is empty; expected a mapping with `name` and `endpoints`")
        }
        guard let cluster, reader.problems.isEmpty else { throw ConfigurationError(problems: reader.problemsInFileOrder) }
        return cluster
    }

    static func parse(bytes: [UInt8], file: String, checkingFiles: Bool = false) throws(ConfigurationError) -> DaemonConfiguration {
        try parse(text: try SourceText.decode(bytes, file: file), file: file, checkingFiles: checkingFiles)
    }

    /// - Parameters:
    ///   - allowsPipes: Whether the file may be a pipe, of which the caller may wait for the end.
    ///   - account: The account as whose the file is opened; nil: this process's.
    package static func contents(
        ofFile path: String,
        allowsPipes: Bool = false,
        as account: Account? = nil
    ) throws(ConfigurationError) -> [UInt8] {
        func failure(_ message: String, _ errno: Int32 = 0) -> ConfigurationError {
            var error = ConfigurationError(problems: [.init(file: path, line: 0, column: 0, message: message)])
            error.isNotPermitted = errno == EACCES || errno == EPERM
            return error
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw failure("the name of the configuration file is empty or contains NUL; expected the path of a YAML file")
        }
        // Nothing but its writer can delay a pipe that the caller has given to this process.
        if allowsPipes, isGiven(path) || isPipe(path) { return try contents(ofPipe: path, failure) }
        do throws(RegularFile.Failure) {
            return try RegularFile.read(path, upTo: maximumFileSize, for: account, isItsFile: true)
        } catch {
            switch error {
            case .notOpened(let errno):
                let reason = String(cString: strerror(errno))
                throw failure("can't open the configuration file: \(reason); expected a readable YAML file", errno)
            case .notRead, .notRegular, .hangs:
                throw failure("can't read the configuration file: \(error.explanation); expected a readable YAML file")
            case .tooLarge: throw failure("the file is larger than \(maximumFileSize) bytes; expected a daemon configuration")
            }
        }
    }

    /// Whether a path is that of an open file of this process, which no other process can look at by it.
    private static func isGiven(_ path: String) -> Bool {
        path == "/dev/stdin" || ["/dev/fd/", "/proc/self/fd/"].contains(where: path.hasPrefix)
    }

    private static func isPipe(_ path: String) -> Bool {
        guard let mode = try? FileLooks().look(at: path).mode else { return false }
        return mode & S_IFMT == S_IFIFO
    }

    private static func contents(
        ofPipe path: String,
        _ failure: (String, Int32) -> ConfigurationError
    ) throws(ConfigurationError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            let reason = String(cString: strerror(number))
            throw failure("can't open the configuration file: \(reason); expected a readable YAML file", number)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count <= maximumFileSize {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0 || errno == EINTR else {
                throw failure("can't read the configuration file: \(String(cString: strerror(errno))); expected a readable YAML file", 0)
            }
            bytes += buffer[..<max(count, 0)]
        }
        throw failure("the file is larger than \(maximumFileSize) bytes; expected a daemon configuration", 0)
    }
}

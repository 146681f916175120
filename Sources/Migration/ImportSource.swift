import DaemonConfiguration
import Glibc

/// A file of another supervisor, and what it may refer to.
struct ImportSource {
    let path: String
    let text: String
    let environment: [String: String]

    /// - Parameter allowsPipes: Whether the file may be a pipe, as one that an operator names.
    init(path: String, environment: [String: String], allowsPipes: Bool = false) throws(ConfigurationError) {
        self.path = path
        self.environment = environment
        text = try SourceText.decode(try DaemonConfiguration.contents(ofFile: path, allowsPipes: allowsPipes), file: path)
    }

    /// The directory of the file, absolute when that can be found out.
    var directory: String {
        guard let resolved = realpath(path, nil) else { return "." }
        defer { free(resolved) }
        let absolute = String(cString: resolved)
        return absolute.lastIndex(of: "/").map { $0 == absolute.startIndex ? "/" : String(absolute[..<$0]) } ?? "."
    }

    /// Returns the paths that a pattern of glob(3) stands for, sorted; a relative one begins at the file's directory.
    func files(matching pattern: String) -> [String] {
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(pattern.hasPrefix("/") ? pattern : "\(directory)/\(pattern)", 0, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).compactMap { result.gl_pathv[$0].map { String(cString: $0) } }
    }

    func failure(_ line: Int, _ message: String) -> ConfigurationError {
        ConfigurationError(problems: [.init(file: path, line: line, column: line == 0 ? 0 : 1, message: message)])
    }
}

import ConcurrencySupport
package import Supervision

extension RestartType {
    /// The word of the file, which is that of other supervisors.
    package var configurationText: String {
        switch self {
        case .permanent: "always"
        case .transient: "on_failure"
        case .temporary: "never"
        }
    }
}

extension SupervisionPolicy.Strategy {
    /// The word of the file.
    package var configurationText: String { rawValue.snakeCase }
}

extension Shutdown {
    /// The value as the file has it.
    package var configurationText: String {
        switch self {
        case .brutalKill: "brutal_kill"
        case .infinity: "infinity"
        case .timeout(let duration): duration.configurationText
        case .draining(let duration): "{ draining: \(duration.configurationText) }"
        }
    }
}

extension String {
    /// A name in camel case as the words of the file are written.
    var snakeCase: String { reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" } }
}

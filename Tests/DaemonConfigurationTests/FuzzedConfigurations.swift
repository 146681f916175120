@testable import DaemonConfiguration

/// What must hold of the reading of configuration files, whatever the bytes are.
enum FuzzedConfigurations {
    /// Returns what is wrong; `nil` when all is well.
    static func problem(_ bytes: [UInt8]) -> String? {
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.parse(bytes: bytes, file: "f")
            return nil
        } catch {
            if error.problems.isEmpty { return "the file is refused without a problem" }
            let arePlaced = error.problems.allSatisfy { $0.line >= 1 && $0.column >= 1 && !$0.message.isEmpty }
            let areInOrder = zip(error.problems, error.problems.dropFirst()).allSatisfy { ($0.line, $0.column) <= ($1.line, $1.column) }
            return arePlaced && areInOrder ? nil : "problems without a place, or out of order: \(error)"
        }
    }
}

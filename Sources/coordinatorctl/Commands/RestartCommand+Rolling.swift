import Control
import WireProtocol

extension RestartCommand {
    /// Replaces what the arguments stand for, one after the other, up to the first failure.
    func replaceOneByOne() throws {
        let options = options.merged(over: root.options)
        let isJSON = options.isJSON
        var paths = try Terminal.exitingOnFailure(isJSON: isJSON) { () throws(ControlError) -> [String] in
            var client = try options.connect()
            var paths: [String] = []
            for path in try client.paths(self) {
                let list = try ControlJSON.decode(PathList.self, from: try client.call(.replacements(path: path)))
                paths += list.paths.filter { !paths.contains($0) }
            }
            return paths
        }
        var outcomes: [PathOutcome<LifecycleResult>] = []
        while !paths.isEmpty {
            let path = paths.removeFirst()
            let outcome = PathOutcome<LifecycleResult>(path: path, options.outcome(of: .replace(path: path), wait), untouched: paths)
            outcomes.append(outcome)
            if case .failure = outcome.result { break }
            // Each takes its time, and a person wants to see it.
            guard !isJSON else { continue }
            try print(outcomes, isJSON: false, isList: true)
            outcomes = []
        }
        try print(outcomes, isJSON: isJSON, isList: true)
    }
}

extension CommonOptions {
    /// Requests an operation on a connection of its own.
    fileprivate func outcome(of operation: ControlOperation, _ wait: WaitOptions) -> Result<JSONValue, ControlError> {
        do throws(ControlError) {
            var client = try connect()
            return client.call(all: [operation], patience: wait.patience(isQuiet: isJSON))[0]
        } catch {
            return .failure(error)
        }
    }
}

extension PathOutcome where Answer: Codable {
    /// Creates the outcome of a replacement; a failure names the paths that aren't replaced because of it.
    fileprivate init(path: String, _ outcome: Result<JSONValue, ControlError>, untouched: [String]) {
        self.init(
            path: path,
            outcome.mapError { error in
                let rest = untouched.isEmpty ? "" : "; not touched: \(untouched.joined(separator: ", "))"
                let what = error.code == .timedOut ? "isn't replaced yet" : "was not replaced"
                return ControlError(error.code, "\(path) \(what): \(error.message)\(rest)")
            }
        )
    }
}

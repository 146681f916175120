import Control
import Processes
import WireProtocol

extension RestartCommand {
    /// Replaces what the arguments stand for, one after the other, up to the first failure.
    func replaceOneByOne() throws {
        let options = options.merged(over: root.options)
        let isJSON = options.isJSON
        let end = wait.end
        let (directory, replaced) = try Terminal.exitingOnFailure(isJSON: isJSON) { () throws(ControlError) in
            let directory = try options.directory()
            var client = try BlockingControlClient.connected(to: directory, patience: wait.patience(isQuiet: true, until: end))
            var paths: [String] = []
            for path in try client.paths(self) {
                let list = try ControlJSON.decode(PathList.self, from: try client.call(.replacements(path: path)))
                paths += list.paths.filter { !paths.contains($0) }
            }
            return (directory, paths)
        }
        var (paths, outcomes): ([String], [PathOutcome<LifecycleResult>]) = (replaced, [])
        while !paths.isEmpty {
            let path = paths.removeFirst()
            // A patience of its own, whose line about what is waited for goes before the outcome is printed.
            let result = directory.outcome(of: .replace(path: path), wait.patience(isQuiet: isJSON, until: end))
            let outcome = PathOutcome<LifecycleResult>(path: path, result, untouched: paths)
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

extension RuntimeDirectory {
    /// Requests an operation on a connection of its own.
    fileprivate func outcome(of operation: ControlOperation, _ patience: ClientPatience) -> Result<JSONValue, ControlError> {
        do throws(ControlError) {
            var client = try BlockingControlClient.connected(to: self, patience: patience)
            return client.call(all: [operation])[0]
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
                let what = error.code == .timedOut && error.maybeExecuted != false ? "isn't replaced yet" : "was not replaced"
                return ControlError(error.code, "\(path) \(what): \(error.message)\(rest)", maybeExecuted: error.maybeExecuted)
            }
        )
    }
}

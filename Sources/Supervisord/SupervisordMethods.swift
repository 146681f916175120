package import Control
import Glibc
import Processes
import WireProtocol

/// The methods of supervisord's interface, carried out on the daemon: http://supervisord.org/api.html.
///
/// They are those that `supervisorctl` needs for `status`, `pid`, `start`, `stop`, `restart`, `signal`, `tail`, `version`, `avail`, `reread`,
/// `update`, `add`, `remove` and `shutdown`. What clears logs, restarts the daemon or writes to processes has no counterpart, and says so.
package struct SupervisordMethods: Sendable {
    /// The version of the interface, which `supervisorctl` compares with its own.
    private static let interfaceVersion = "3.0"
    /// The largest number of processes that are started, stopped or asked about at the same time.
    private static let maximumConcurrency = 16
    /// The largest number of calls in one.
    private static let maximumCalls = 64

    /// The methods that only tell something.
    private static let questions: Set<String> = [
        "supervisor.getAPIVersion", "supervisor.getVersion", "supervisor.getSupervisorVersion", "supervisor.getIdentification",
        "supervisor.getState", "supervisor.getPID", "supervisor.getAllProcessInfo", "supervisor.getProcessInfo",
        "supervisor.readProcessStdoutLog", "supervisor.readProcessLog", "supervisor.readProcessStderrLog",
        "supervisor.tailProcessStdoutLog", "supervisor.tailProcessLog", "supervisor.tailProcessStderrLog", "system.listMethods",
        "system.multicall", "supervisor.getAllConfigInfo", "supervisor.reloadConfig", "supervisor.readLog", "supervisor.readMainLog",
    ]
    /// The methods that change something.
    private static let changes: Set<String> = [
        "supervisor.startProcess", "supervisor.startProcessGroup", "supervisor.startAllProcesses", "supervisor.stopProcess",
        "supervisor.stopProcessGroup", "supervisor.stopAllProcesses", "supervisor.signalProcess", "supervisor.signalProcessGroup",
        "supervisor.signalAllProcesses", "supervisor.addProcessGroup", "supervisor.removeProcessGroup", "supervisor.shutdown",
        "supervisor.restart", "supervisor.clearLog", "supervisor.clearProcessLog", "supervisor.clearProcessLogs",
        "supervisor.clearAllProcessLogs", "supervisor.sendProcessStdin",
    ]

    package let daemon: DaemonConnection
    let rereadGroups = RereadGroups()

    package init(daemon: DaemonConnection) { self.daemon = daemon }

    /// Whether a call can change something, by itself or by the calls that it contains.
    package static func isChange(_ call: XMLRPCCall) -> Bool {
        guard call.method == "system.multicall" else { return changes.contains(call.method) }
        return call.parameters.first?.arrayValue?.contains { $0["methodName"]?.stringValue.map(changes.contains) ?? false } ?? false
    }

    /// Carries out a call.
    package func perform(_ call: XMLRPCCall) async throws(XMLRPCFault) -> XMLRPCValue {
        do {
            return try await value(of: call.method, Arguments(values: call.parameters))
        } catch let fault as XMLRPCFault {
            throw fault
        } catch {
            throw XMLRPCFault(error)
        }
    }

    private func value(of method: String, _ arguments: Arguments) async throws -> XMLRPCValue {
        guard Self.questions.contains(method) || Self.changes.contains(method) else { throw XMLRPCFault(.unknownMethod) }
        switch method {
        case "system.listMethods": return .array(Self.questions.union(Self.changes).sorted().map(XMLRPCValue.string))
        case "system.multicall": return try await several(arguments)
        case "supervisor.getAPIVersion", "supervisor.getVersion": return .string(Self.interfaceVersion)
        case "supervisor.getSupervisorVersion": return .string(Release.version)
        case "supervisor.getIdentification": return .string("supervisor")
        case "supervisor.getState":
            let isEnding = try await tree().state == "stopping"
            return .structure(["statecode": .integer(isEnding ? -1 : 1), "statename": .string(isEnding ? "SHUTDOWN" : "RUNNING")])
        case "supervisor.getPID": return .integer(Int(try await tree().pid ?? 0))
        case "supervisor.getAllProcessInfo": return .array(try await concurrently(try await processes()) { try await information($0) })
        case "supervisor.getProcessInfo": return try await information(try await process(try arguments.text(0)))
        case "supervisor.getAllConfigInfo": return try await configurations()
        case "supervisor.reloadConfig": return try await reread()
        case "supervisor.addProcessGroup": return try await addGroup(try arguments.text(0))
        case "supervisor.removeProcessGroup": return try await removeGroup(try arguments.text(0))
        case "supervisor.shutdown": return try await shutDown()
        case _ where Self.withoutCounterpart[method] != nil: return try await refuse(method, arguments)
        case _ where method.hasPrefix("supervisor.read") || method.hasPrefix("supervisor.tail"):
            return try await log(method, arguments)
        default: return try await change(method, arguments)
        }
    }

    /// Carries out several calls, each of which has its own outcome.
    private func several(_ arguments: Arguments) async throws -> XMLRPCValue {
        guard let calls = arguments.values.first?.arrayValue, calls.count <= Self.maximumCalls else {
            throw XMLRPCFault(.incorrectParameters)
        }
        var results: [XMLRPCValue] = []
        for call in calls {
            do throws(XMLRPCFault) {
                guard let method = call["methodName"]?.stringValue, method != "system.multicall" else {
                    throw XMLRPCFault(.incorrectParameters, "a call of a method by its name is expected")
                }
                results.append(.array([try await perform(XMLRPCCall(method: method, parameters: call["params"]?.arrayValue ?? []))]))
            } catch {
                results.append(error.value)
            }
        }
        return .array(results)
    }
}

// MARK: - Processes

extension SupervisordMethods {
    private func tree() async throws -> TreeNode {
        // Never from what the page asks: a script that has stopped a process looks at once whether it has ended.
        try ControlJSON.decode(TreeNode.self, from: try await daemon.call(.tree))
    }

    func processes() async throws -> [SupervisedProcess] { SupervisedProcess.all(in: try await tree(), except: getpid()) }

    package func process(_ name: String) async throws -> SupervisedProcess {
        let (group, name, whole) = Self.parts(of: name)
        guard let process = try await processes().first(where: { $0.group == group && $0.name == name }) else {
            throw XMLRPCFault(.badName, whole)
        }
        return process
    }

    /// Returns the group and the name in `group:name`, where a name alone is that of its group too.
    private static func parts(of text: String) -> (group: String, name: String, whole: String) {
        guard let colon = text.firstIndex(of: ":") else { return (text, text, text) }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]), text)
    }

    private func information(_ process: SupervisedProcess) async throws -> XMLRPCValue {
        let isOver = ![.running, .starting].contains(process.state)
        let history = isOver ? try? ControlJSON.decode(LifeHistory.self, from: try await daemon.call(.history(path: process.path))) : nil
        return process.information(now: Int(Timestamp.nowMicroseconds / 1_000_000), last: history?.lives.last)
    }

    /// Calls a function for each process, for some at the same time, and returns the results in the order of the processes.
    private func concurrently(
        _ processes: [SupervisedProcess],
        _ body: @escaping @Sendable (SupervisedProcess) async throws -> XMLRPCValue
    ) async throws -> [XMLRPCValue] {
        try await withThrowingTaskGroup(of: (index: Int, value: XMLRPCValue).self) { group in
            var results = [XMLRPCValue](repeating: .boolean(false), count: processes.count)
            for (index, process) in processes.enumerated() {
                if index >= Self.maximumConcurrency, let done = try await group.next() { results[done.index] = done.value }
                group.addTask { (index: index, value: try await body(process)) }
            }
            while let done = try await group.next() { results[done.index] = done.value }
            return results
        }
    }
}

// MARK: - Changes

extension SupervisordMethods {
    private enum Change: Sendable {
        case start, stop
        case signal(Int32)

        init(_ method: String, _ arguments: Arguments, signalAt index: Int) throws {
            if method.hasPrefix("supervisor.start") {
                self = .start
            } else if method.hasPrefix("supervisor.stop") {
                self = .stop
            } else {
                let text = try arguments.text(index)
                guard let signal = Int32(text) ?? Signal(name: text.uppercased())?.rawValue, (1...64).contains(signal) else {
                    throw XMLRPCFault(.badSignal, text)
                }
                self = .signal(signal)
            }
        }

        /// Whether a group's process in the state takes part.
        func concerns(_ process: SupervisedProcess) -> Bool {
            switch self {
            case .start: !process.isRunning
            case .stop: process.isRunning
            case .signal: process.node.pid != nil
            }
        }
    }

    private func change(_ method: String, _ arguments: Arguments) async throws -> XMLRPCValue {
        if method.hasSuffix("AllProcesses") {
            let change = try Change(method, arguments, signalAt: 0)
            return try await carryOut(change, on: try await processes())
        }
        let change = try Change(method, arguments, signalAt: 1)
        let name = try arguments.text(0)
        let isGroup = method.hasSuffix("Group") || name.hasSuffix(":*")
        guard isGroup else { return try await carryOut(change, on: try await process(name)) }
        let group = name.hasSuffix(":*") ? String(name.dropLast(2)) : name
        let members = try await processes().filter { $0.group == group }
        guard !members.isEmpty else { throw XMLRPCFault(.badName, name) }
        if case .stop = change { rereadGroups.noteStop(of: group, members.filter(change.concerns).map(\.path)) }
        return try await carryOut(change, on: members)
    }

    private func carryOut(_ change: Change, on processes: [SupervisedProcess]) async throws -> XMLRPCValue {
        .array(
            try await concurrently(processes.filter(change.concerns)) { process in
                var fault: XMLRPCFault?
                do {
                    _ = try await carryOut(change, on: process)
                } catch let error as XMLRPCFault {
                    fault = error
                }
                return .structure([
                    "name": .string(process.name), "group": .string(process.group),
                    "status": .integer((fault?.code ?? .success).rawValue), "description": .string(fault?.text ?? "OK"),
                ])
            }
        )
    }

    /// Changes one process, and waits until it's done, also for a caller who wouldn't.
    private func carryOut(_ change: Change, on process: SupervisedProcess) async throws -> XMLRPCValue {
        switch change {
        case .start:
            guard !process.isRunning else { throw XMLRPCFault(.alreadyStarted, process.path) }
            do throws(ControlError) {
                _ = try await daemon.call(.start(path: process.path))
            } catch {
                guard error.code == .failed else { throw error }
                let node = try? ControlJSON.decode(TreeNode.self, from: try await daemon.call(.status(path: process.path)))
                throw XMLRPCFault(node.map(SupervisedProcess.hasBegun) == true ? .abnormalTermination : .spawnError, error.message)
            }
        case .stop:
            guard process.isRunning else { throw XMLRPCFault(.notRunning, process.path) }
            _ = try await daemon.call(.stop(path: process.path))
        case .signal(let signal):
            guard process.node.pid != nil else { throw XMLRPCFault(.notRunning, process.path) }
            _ = try await daemon.call(.signal(path: process.path, signal: signal))
        }
        return .boolean(true)
    }
}

/// The parameters of a call.
struct Arguments: Sendable {
    let values: [XMLRPCValue]

    func text(_ index: Int) throws(XMLRPCFault) -> String {
        guard values.indices.contains(index), let text = values[index].stringValue else { throw XMLRPCFault(.incorrectParameters) }
        return text
    }

    func number(_ index: Int) throws(XMLRPCFault) -> Int {
        guard values.indices.contains(index), let number = values[index].integerValue else { throw XMLRPCFault(.incorrectParameters) }
        return number
    }
}

extension XMLRPCFault {
    /// Tells a client of supervisord what the daemon has told the console.
    fileprivate init(_ error: any Error) {
        guard let error = error as? ControlError else {
            self.init(.failed, "\(error)")
            return
        }
        let code: Code =
            switch error.code {
            case .unreachable, .upgrading, .idle: .shutdownState
            case .noSuchPath: .badName
            case .notRunning: .notRunning
            default: .failed
            }
        self.init(code, error.withoutQuotation.message)
    }
}

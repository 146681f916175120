import ConcurrencySupport
import DaemonConfiguration
import Supervision

/// The output of `--check-config` for a file without problems.
struct ConfigurationSummary: Codable {
    struct Child: Codable {
        var key: String
        var kind: String
        /// The executable of a worker or a program.
        var executable: String?
        var restart: String
        var shutdown: String
        var instances: Int?
        /// The beginnings of the names of messages that the child gets; nil: none.
        var receives: [String]?
        /// The children of a group.
        var children: [Child]?
    }

    var file: String
    var valid = true
    var strategy: String
    var intensity: Int
    var period: String
    var orphanGrace: String
    var children: [Child]

    private enum CodingKeys: String, CodingKey {
        case file, valid, strategy, intensity, period, children
        case orphanGrace = "orphan_grace"
    }

    init(of configuration: DaemonConfiguration, file: String) {
        self.file = file
        strategy = configuration.supervision.strategy.rawValue
        intensity = configuration.supervision.intensity
        period = configuration.supervision.period.configurationText
        orphanGrace = configuration.orphanGrace.configurationText
        children = configuration.children.map(Child.init)
    }

    var text: String {
        let count = children.count == 1 ? "1 child" : "\(children.count) children"
        let first = "\(file): ok; \(count), \(strategy), at most \(intensity) restarts in \(period)\n"
        return first + children.map { $0.text(indentation: 1) }.joined()
    }
}

extension ConfigurationSummary.Child {
    init(_ child: ConfiguredChild) {
        key = child.key
        restart = child.restart.rawValue
        switch child.content {
        case .worker(let worker): (kind, executable) = ("worker", worker.executable)
        case .program(let program): (kind, executable) = (program.isOneshot ? "oneshot" : "program", program.command[0])
        case .group(let group): (kind, children) = ("group", group.children.map(Self.init))
        }
        instances = child.instances
        receives = child.receives.isEmpty ? nil : child.receives
        switch child.shutdown {
        case .timeout(let duration): shutdown = duration.configurationText
        case .brutalKill: shutdown = "brutalKill"
        case .infinity: shutdown = "infinity"
        case .draining(let duration): shutdown = "draining \(duration.configurationText)"
        }
    }

    func text(indentation: Int) -> String {
        let name = instances.map { "\(key)-1…\($0)" } ?? key
        let content = executable.map { "\(kind) \($0)" } ?? "\(kind) of \(children?.count ?? 0)"
        let receives = receives.map { ", receives \($0.joined(separator: " "))" } ?? ""
        let line = String(repeating: "  ", count: indentation) + "\(name): \(content), \(restart), shutdown \(shutdown)\(receives)\n"
        return line + (children ?? []).map { $0.text(indentation: indentation + 1) }.joined()
    }
}

import ArgumentParser
import SupervisionSimulation

@main
struct SupervisionSimulator: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "supervision-simulator")
    func run() throws {
        var n = 0
        for s in 0..<2000 { let o = Simulation().run(Scenario(seed: UInt64(s))); n += o.events
            if let v = o.violation { print(s, v); let m = Simulation().minimise(Scenario(seed: UInt64(s))); let r = Simulation().run(m, recordsTrace: true); print(m.treeDescription.joined(separator: "\n")); print(r.trace.joined(separator: "\n")); break } }
        print(n)
    }
}

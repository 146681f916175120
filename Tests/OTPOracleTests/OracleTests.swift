import Foundation
import OTPOracle
import Supervision
import SupervisionSimulation
import TestSupport
import Testing

/// Random scenarios, carried out by our supervisor and by OTP's own.
@Suite(.timeLimit(minutes: 10)) struct OracleTests {
    @Test func thousandsOfScenariosGoAsInOTP() async throws {
        let count = rounds(short: 1_500, all: 10_000, long: 100_000)
        let first = UInt64.random(in: 0 ..< .max / 2)
        print("seeds: from \(first)")
        try await ErlangNode.run { node in
            var oracle = Oracle(node)
            for seed in first..<first + UInt64(count) {
                guard try oracle.compare(Scenario(seed: seed)) != nil else { continue }
                Issue.record("\(try oracle.report(Scenario(seed: seed)))")
                return
            }
            print("\(oracle.steps) steps; on purpose: \(oracle.met)")
            #expect(oracle.steps > 10 * count, "the scenarios are too small")
        }
    }

    @Test func restartsOfOnePeriodAreCountedAsInOTP() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed: \(seed)")
        let trials = (0..<rounds(short: 100, all: 200, long: 2_000)).map { WindowTrial(number: $0, seed: seed) }
        try await ErlangNode.run { node in
            for difference in try WindowTrial.compare(trials, on: node) { Issue.record("\(difference)") }
        }
        let ends = trials.map(\.ours)
        #expect(ends.contains(0) && ends.contains { $0 > 3 }, "the trials show nothing")
    }

    @Test func theArticleListsTheDifferences() throws {
        let article = try String(contentsOf: Self.article, encoding: .utf8)
        let table = article.drop { $0 != "|" }.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        let rows = table.map { $0.dropFirst(2).prefix { $0 != "|" }.trimmingCharacters(in: .whitespaces) }
        // What Erlang's processes don't have, or the comparison leaves out, and so never comes upon.
        let others = ["What counts", "Ends that aren't counted", "Members of a pool"]
        #expect(rows.filter { !others.contains($0) } == Difference.allCases.map(\.rawValue))
    }

    private static let article = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Coordinators/Coordinators.docc/Supervision.md")
}

/// An oracle that finds nothing proves nothing: here it has something to find.
@Suite(SharedErlangNode(), .serialized, .timeLimit(minutes: 10)) struct OracleFaultTests {
    @Test(arguments: SupervisionFault.differencesFromOTP)
    func aPlantedFaultIsFound(fault: SupervisionFault) throws {
        let node = try #require(SharedErlangNode.current)
        var oracle = Oracle(node, mutation: fault.mutation)
        let seed = try #require(try (0..<2_000).first { try oracle.compare(Scenario(seed: $0)) != nil }, "\(fault) wasn't found")
        let minimal = try oracle.minimise(Scenario(seed: seed))
        #expect(try oracle.compare(minimal) != nil)
        var sound = Oracle(node)
        #expect(try sound.compare(minimal) == nil)
        print("\(fault): \(seed + 1) scenario(s), \(minimal.steps.count) steps needed")
    }

    /// The list has nothing in it that isn't a difference.
    @Test(arguments: Set(Difference.allCases).subtracting([.concurrency, .finished]))
    func aListedDifferenceIsReal(difference: Difference) throws {
        var oracle = Oracle(try #require(SharedErlangNode.current), listed: Set(Difference.allCases).subtracting([difference]))
        let seed = try (0..<20_000).first { try oracle.compare(Scenario(seed: $0)) != nil }
        #expect(seed != nil, "our supervisor and OTP's don't differ in this")
    }
}

/// One Erlang node for all tests of a suite, which take turns at it.
private struct SharedErlangNode: SuiteTrait, TestScoping {
    @TaskLocal static var current: ErlangNode?

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await ErlangNode.run { node in try await Self.$current.withValue(node) { try await function() } }
    }
}

import ConcurrencySupport
import Glibc
import Processes
import TestSupport
import Testing

@testable import Coordinators

/// Tests of the journal of processes in which each system call fails, the first time, the second time, and so on.
@Suite("A journal whose file can't be written")
struct JournalFaultTests {
    @Test(
        "Whichever call fails, once or from then on: no trap, no open descriptor, no torn file, and all is written when it works again",
        arguments: FaultyFiles.Call.allCases,
        [false, true]
    )
    func everyCall(call: FaultyFiles.Call, isForever: Bool) throws {
        // The first calls, and those after them in larger steps where a contributor waits.
        let pace = rounds(short: 4, all: 1, long: 1)
        var planned = 0
        for number in sequence(first: 1, next: { $0 + ($0 < 5 ? 1 : pace) }) {
            let directory = try TemporaryDirectory()
            let files = FaultyFiles()
            files.plan(.init(call: call, number: number, isForever: isForever, errno: ENOSPC))
            let news = Lock<[Int32?]>([])
            let journal = ProcessJournal(RuntimeFiles(directory.path), calls: files.calls, slack: 16) { failure in
                news.withLock { $0.append(failure) }
            }
            var model = Model()
            for step in 0..<40 {
                model.take(step, journal)
                // A reader never finds less than a whole line, nor a process that hasn't begun.
                let read = Self.read(directory)
                #expect(read?.isSubset(of: model.begun) != false, "\(call) \(number), step \(step)")
                #expect(files.hits > 0 || read == model.living, "\(call) \(number), step \(step)")
            }
            planned += files.hits > 0 ? 1 : 0
            let reached = files.reached(call)
            files.plan(nil)
            // It passes, and isn't remembered.
            model.take(40, journal)
            #expect(Self.read(directory) == model.living, "\(call) \(number)")
            #expect(news.withLock { $0.count.isMultiple(of: 2) }, "the end of a failure is reported, \(call) \(number)")
            #expect(files.openDescriptors.count == 1, "\(call) \(number)")
            journal.close()
            #expect(files.openDescriptors.isEmpty, "\(call) \(number)")
            #expect(directory.entries.isEmpty, "\(call) \(number)")
            if number > reached { break }
        }
        #expect(planned > 0, "\(call) was never called")
    }

    @Test("A disk that is full is reported once, with its reason, however many processes begin meanwhile")
    func reports() throws {
        let directory = try TemporaryDirectory()
        let files = FaultyFiles()
        let news = Lock<[Int32?]>([])
        let journal = ProcessJournal(RuntimeFiles(directory.path), calls: files.calls) { failure in news.withLock { $0.append(failure) } }
        journal.startJournal()
        files.plan(.init(call: .write, number: 1, isForever: true, errno: ENOSPC))
        for number in 2..<102 { journal.began(Model.family(number)) }
        #expect(news.withLock { $0 } == [ENOSPC])
        files.plan(nil)
        journal.began(Model.family(102))
        #expect(news.withLock { $0 } == [ENOSPC, nil])
        #expect(Self.read(directory)?.count == 101)
    }

    @Test("A file that is incomplete, or was removed, is written anew on request, and one that can't be says why")
    func completes() throws {
        let directory = try TemporaryDirectory()
        let files = FaultyFiles()
        let journal = ProcessJournal(RuntimeFiles(directory.path), calls: files.calls)
        journal.startJournal()
        #expect(journal.complete() == nil)
        files.plan(.init(call: .write, number: 1, isForever: true, errno: ENOSPC))
        journal.began(Model.family(2))
        #expect(journal.complete() == ENOSPC)
        files.plan(nil)
        #expect(journal.complete() == nil)
        #expect(Self.read(directory) == [Model.family(2).leader])
        for name in directory.entries { Files.remove(directory.file(name)) }
        #expect(journal.complete() == nil)
        #expect(Self.read(directory) == [Model.family(2).leader])
    }

    /// The processes that a next runtime would find.
    private static func read(_ directory: TemporaryDirectory) -> Set<ProcessIdentity>? {
        guard let name = directory.entries.first(where: { $0.hasSuffix(RuntimeFiles.journalSuffix) }),
            let text = Files.text(of: directory.file(name))
        else { return nil }
        guard let journal = ProcessJournal.read(text) else {
            Issue.record("the file isn't a journal: \(text)")
            return nil
        }
        return Set(journal.living.map(\.leader))
    }

    /// What the journal was told.
    private struct Model {
        var living: Set<ProcessIdentity> = []
        var begun: Set<ProcessIdentity> = []

        static func family(_ number: Int) -> ProcessFamily {
            ProcessFamily(leader: ProcessIdentity(processID: Int32(number), startTime: 7), entry: "entry.\(number)")
        }

        /// Two processes begin, and then one of them ends; some steps fill the file with lines about ended processes, so that it's rewritten.
        mutating func take(_ step: Int, _ journal: ProcessJournal) {
            let family = Self.family(10 + step)
            if step % 3 < 2 {
                living.insert(family.leader)
                begun.insert(family.leader)
                journal.began(family)
            } else {
                let former = Self.family(10 + step - 1)
                living.remove(former.leader)
                journal.ended(former.leader)
            }
            guard step == 20 else { return }
            for number in 1_000..<1_080 {
                let brief = Self.family(number)
                begun.insert(brief.leader)
                journal.began(brief)
                journal.ended(brief.leader)
            }
        }
    }
}

/// The live calls with bookkeeping; one of them can be made to fail.
final class FaultyFiles: Sendable {
    /// The calls that can fail; `shortWrite` writes a part of what it's given.
    enum Call: String, CaseIterable, Sendable { case open, write, shortWrite, linkCount, rename }

    struct Fault: Sendable {
        var call: Call
        var number: Int
        var isForever: Bool
        var errno: Int32
    }

    private struct State {
        var open: Set<Int32> = []
        var fault: Fault?
        var counts: [Call: Int] = [:]
        var hits = 0
    }

    private let state = Lock(State())

    var openDescriptors: Set<Int32> { state.withLock { $0.open } }
    /// The number of times that a call was made to fail.
    var hits: Int { state.withLock { $0.hits } }

    func reached(_ call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

    func plan(_ fault: Fault?) {
        state.withLock { state in
            state.fault = fault
            state.counts = [:]
            state.hits = 0
        }
    }

    /// The negated error number if this call is to fail.
    private func failure(_ call: Call) -> Int32? {
        state.withLock { state in
            let count = (state.counts[call] ?? 0) + 1
            state.counts[call] = count
            guard let fault = state.fault, fault.call == call else { return nil }
            guard fault.isForever ? count >= fault.number : count == fault.number else { return nil }
            state.hits += 1
            return -fault.errno
        }
    }

    var calls: FileCalls {
        let live = FileCalls.live
        var calls = live
        calls.open = { [self] path, flags, mode in
            if let failure = failure(.open) { return failure }
            let descriptor = live.open(path, flags, mode)
            if descriptor >= 0 { state.withLock { _ = $0.open.insert(descriptor) } }
            return descriptor
        }
        calls.write = { [self] descriptor, bytes in
            if let failure = failure(.write) { return Int(failure) }
            return live.write(descriptor, failure(.shortWrite) == nil ? bytes : Array(bytes.dropLast(bytes.count / 2)))
        }
        calls.linkCount = { [self] in failure(.linkCount).map(Int.init) ?? live.linkCount($0) }
        calls.rename = { [self] in failure(.rename) ?? live.rename($0, $1) }
        calls.close = { [self] descriptor in
            state.withLock { #expect($0.open.remove(descriptor) != nil, "a descriptor was closed that wasn't open") }
            live.close(descriptor)
        }
        return calls
    }
}

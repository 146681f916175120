import Glibc
import Processes
import TestSupport
import Testing

extension ProcessesTests {
    @Suite struct Descriptors {
        @Test func aChildHasExactlyWhatItWasGiven() async throws {
            // Not close-on-exec: a descriptor that a careless library left behind.
            let careless = open("/dev/null", O_RDONLY)
            defer { close(careless) }
            for (targets, expected) in [([], [0, 1, 2]), ([3], [0, 1, 2, 3]), ([9, 5], [0, 1, 2, 5, 9])] as [([Int32], [Int])] {
                var specification = ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])
                specification.descriptors = targets.map { InheritedDescriptor(source: careless, target: $0) }
                try await withChild(specification) { child in
                    // One reading counts, and not the one after it: the dynamic linker opens libraries for a moment.
                    var found: [Int] = []
                    try await eventually("it has \(expected); it has \(found)") {
                        found = Files.numbers(in: "/proc/\(child.identity.processID)/fd")
                        return found == expected
                    }
                }
            }
        }

        @Test func numbersMayBeExchangedOrStay() async throws {
            try await withTemporaryDirectory { directory in
                var opened: [Int32] = []
                defer { opened.forEach { close($0) } }
                for name in ["a", "b", "c"] {
                    try Files.write(name, to: directory.path + "/" + name, mode: 0o600)
                    opened.append(open(directory.path + "/" + name, O_RDONLY | O_CLOEXEC))
                }
                let (a, b, c) = (opened[0], opened[1], opened[2])
                guard opened.allSatisfy({ (3...255).contains($0) }) else { return }
                var specification = ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])
                specification.descriptors = [.init(source: a, target: b), .init(source: b, target: a), .init(source: c, target: c)]
                try await withChild(specification) { child in
                    func file(_ descriptor: Int32) -> String? {
                        guard let path = realpath("/proc/\(child.identity.processID)/fd/\(descriptor)", nil) else { return nil }
                        defer { free(path) }
                        return String(cString: path)
                    }
                    #expect(file(a) == directory.path + "/b")
                    #expect(file(b) == directory.path + "/a")
                    #expect(file(c) == directory.path + "/c", "onto itself: must lose close-on-exec")
                }
                // Ours stay open, and close-on-exec.
                for descriptor in opened { #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC) }
            }
        }

        @Test func aTicketArrivesOnDescriptorThree() async throws {
            let (reading, writing) = try makePipe()
            defer { close(reading) }
            #expect(write(writing, "secret", 6) == 6)
            close(writing)
            var specification = shell("cat <&3")
            specification.descriptors = [.init(source: reading, target: 3)]
            #expect(try await run(specification).1 == "secret")
        }

        @Test func aChildLeadsASessionWithNoSignalBlockedOrIgnored() async throws {
            WorkerProcess.ignoreBrokenPipes()
            let output = Transcript()
            // Plain cat: shells change what they ignore.
            let specification = ProcessSpecification(executable: "cat", arguments: ["/proc/self/status"]).collecting(output)
            _ = try await withChild(specification) { await $0.waitForExit() }
            let lines = output.text.split(separator: "\n")
            for field in ["SigBlk:", "SigIgn:", "SigCgt:"] {
                let line = try #require(lines.first { $0.hasPrefix(field) })
                // The two internal signals of glibc (32 and 33) may be ignored.
                let mask = try #require(UInt64(line.dropFirst(field.count + 1), radix: 16))
                #expect(mask & ~0x1_8000_0000 == 0, "\(line)")
            }
            try await withChild(ProcessSpecification(executable: "/bin/sleep", arguments: ["100"])) { child in
                let processID = child.identity.processID
                #expect(child.identity.sessionID == processID)
                #expect(getsid(processID) == processID)
                #expect(getpgid(processID) == processID)
            }
        }
    }
}

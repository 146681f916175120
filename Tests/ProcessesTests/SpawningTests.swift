import Glibc
import Processes
import TestSupport
import Testing

extension ProcessesTests {
    @Suite struct Spawning {
        @Test(arguments: [0, 1, 75, 255] as [Int32])
        func exitCodesArrive(code: Int32) async throws {
            let (status, _) = try await run(shell("exit \(code)"))
            #expect(status == .exited(code: code))
            #expect(status.isSuccess == (code == 0))
        }

        @Test(arguments: [Signal.terminate, .kill, .hangup, .user1])
        func signalsThatEndAChildArrive(signal: Signal) async throws {
            let (status, _) = try await run(shell("kill -\(signal.rawValue) $$; exit 1"))
            #expect(status == .signaled(signal, coreDumped: false))
        }

        @Test func theEnvironmentIsTheGivenOneOrOurs() async throws {
            setenv("PROCESSES_TESTS", "inherited", 1)
            defer { unsetenv("PROCESSES_TESTS") }
            var specification = ProcessSpecification(executable: "/usr/bin/env")
            #expect(try await run(specification).1.contains("PROCESSES_TESTS=inherited\n"))
            specification.environment = ["A": "b=c", "EMPTY": ""]
            #expect(try await Set(run(specification).1.split(separator: "\n")) == ["A=b=c", "EMPTY="])
        }

        @Test func theWorkingDirectoryIsTheGivenOneOrOurs() async throws {
            var specification = shell("pwd -P")
            specification.workingDirectory = "/usr"
            #expect(try await run(specification).1 == "/usr\n")
            specification.workingDirectory = nil
            let ours = try #require(getcwd(nil, 0))
            defer { free(ours) }
            #expect(try await run(specification).1 == String(cString: ours) + "\n")
        }

        @Test func argumentsAndNameArriveAsTheyAre() async throws {
            var specification = ProcessSpecification(executable: "sh", arguments: ["-c", "printf '%s|' \"$0\" \"$@\"", "a b", "", "ü'\""])
            #expect(try await run(specification).1 == "a b||ü'\"|")
            specification = shell("tr '\\0' '|' < /proc/$$/cmdline")
            specification.processName = "worker: cart"
            #expect(try await run(specification).1.hasPrefix("worker: cart|-c|"))
        }

        @Test func standardInputIsEmptyOrADescriptor() async throws {
            #expect(try await run(ProcessSpecification(executable: "cat")).0 == .exited(code: 0))
            try await withTemporaryDirectory { directory in
                try Files.write("hello", to: directory.path + "/input", mode: 0o600)
                let descriptor = open(directory.path + "/input", O_RDONLY | O_CLOEXEC)
                defer { close(descriptor) }
                let specification = ProcessSpecification(executable: "cat", standardInput: .descriptor(descriptor))
                #expect(try await run(specification).1 == "hello")
            }
        }

        @Test func aMissingExecutableIsNamed() async throws {
            try await expect(.executableNotFound, ENOENT, saying: "/nowhere/at-all", .init(executable: "/nowhere/at-all"))
            try await expect(.executableNotFound, ENOENT, saying: "no-such-program-1", .init(executable: "no-such-program-1"))
            try await expect(.executableNotFound, ENOTDIR, saying: "/bin/sh/x", .init(executable: "/bin/sh/x"))
        }

        @Test func aMissingDirectoryIsNamedInsteadOfTheExecutable() async throws {
            var specification = shell("exit 0")
            specification.workingDirectory = "/nowhere"
            try await expect(.workingDirectoryUnavailable, ENOENT, saying: "\"/nowhere\"", specification)
            specification.workingDirectory = "/bin/sh"
            try await expect(.workingDirectoryUnavailable, ENOTDIR, saying: "\"/bin/sh\"", specification)
        }

        @Test func filesThatAreNotProgramsAreNamed() async throws {
            try await withTemporaryDirectory { directory in
                try Files.write("#!/bin/sh\n", to: directory.path + "/plain", mode: 0o600)
                try await expect(.permissionDenied, EACCES, saying: directory.path + "/plain", .init(executable: directory.path + "/plain"))
                try Files.write("text", to: directory.path + "/text", mode: 0o700)
                try await expect(.notExecutable, ENOEXEC, saying: directory.path + "/text", .init(executable: directory.path + "/text"))
                try Files.write("#!/nowhere/interpreter\n", to: directory.path + "/script", mode: 0o700)
                try await expect(.executableNotFound, ENOENT, saying: "first line", .init(executable: directory.path + "/script"))
                var relative = ProcessSpecification(executable: "./absent", workingDirectory: directory.path)
                try await expect(.executableNotFound, ENOENT, saying: directory.path + "/./absent", relative)
                relative.executable = directory.path
                try await expect(.permissionDenied, EACCES, saying: directory.path, relative)
            }
        }

        @Test func specificationsThatContradictThemselvesAreRefused() async throws {
            let wrong: [ProcessSpecification] = [
                .init(executable: ""),
                .init(executable: "/bin/true\0"),
                .init(executable: "/bin/true", arguments: ["a\0b"]),
                .init(executable: "/bin/true", environment: ["A=B": ""]),
                .init(executable: "/bin/true", environment: ["": ""]),
                .init(executable: "/bin/true", environment: ["A": "\0"]),
                .init(executable: "/bin/true", workingDirectory: ""),
                .init(executable: "/bin/true", standardOutput: .sameAsOutput),
                .init(executable: "/bin/true", standardOutput: .descriptor(-7)),
                .init(executable: "/bin/true", descriptors: [.init(source: 0, target: 2)]),
                .init(executable: "/bin/true", descriptors: [.init(source: 0, target: 256)]),
                .init(executable: "/bin/true", descriptors: [.init(source: 0, target: 3), .init(source: 1, target: 3)]),
                .init(executable: "/bin/true", descriptors: [.init(source: 1_000_000, target: 3)]),
            ]
            for specification in wrong {
                try await expect(.invalidSpecification, nil, saying: "Could not start", specification)
            }
        }

        @Test func tooLargeArgumentsAreAnError() async throws {
            let specification = ProcessSpecification(executable: "/bin/true", arguments: [String(repeating: "x", count: 1 << 20)])
            try await expect(.spawnFailed, E2BIG, saying: "too large", specification)
        }

        @Test func everybodyWhoWaitsIsTold() async throws {
            try await withChild(shell("exec sleep 100")) { child in
                #expect(child.exitStatus == nil)
                try await withThrowingTaskGroup(of: ExitStatus.self) { group in
                    for _ in 0..<100 { group.addTask { await child.waitForExit() } }
                    try child.send(.kill)
                    for try await status in group { #expect(status == .signaled(.kill, coreDumped: false)) }
                }
                let early = Transcript()
                child.onExit { _ in if case .captured(let tell) = early.destination { tell([1]) } }
                #expect(early.bytes == [1], "at once, since it is gone")
                #expect(child.exitStatus == .signaled(.kill, coreDumped: false))
                try child.send(.terminate)
                try child.sendToGroup(.terminate)
            }
        }

        @Test("Inherited variables reach the child byte for byte, below what is given")
        func inheritedEnvironment() async throws {
            let output = Transcript()
            var specification = ProcessSpecification(executable: "/usr/bin/env", environment: ["GIVEN": "new"]).collecting(output)
            specification.inheritedEnvironment = [Array("LATIN=".utf8) + [0xE9], Array("GIVEN=old".utf8)]
            #expect(try await withChild(specification) { await $0.waitForExit() } == .exited(code: 0))
            #expect(output.bytes == Array("LATIN=".utf8) + [0xE9] + Array("\nGIVEN=new\n".utf8))
        }

        private func expect(
            _ code: ProcessError.Code,
            _ errno: Int32?,
            saying text: String,
            _ specification: ProcessSpecification,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            do {
                let child = try await ProcessSpawner.shared.spawn(specification)
                _ = await child.terminate(grace: .zero)
                Issue.record("\(specification.executable) was started", sourceLocation: sourceLocation)
            } catch {
                #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
                if let errno { #expect(error.errno == errno, sourceLocation: sourceLocation) }
                #expect(error.message.contains(text), "\(error)", sourceLocation: sourceLocation)
            }
        }
    }
}

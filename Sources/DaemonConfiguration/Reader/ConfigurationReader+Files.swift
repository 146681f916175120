import Glibc
import Processes

extension ConfigurationReader {
    /// Reads a path, which no shell expands.
    mutating func path(_ node: YAMLNode, _ name: String, expected: String) -> String? {
        guard let path = text(node, name, expected: expected) else { return nil }
        return self.path(path, name, at: node)
    }

    /// Returns a path that was read, unless it's one that a shell would expand.
    mutating func path(_ path: String, _ name: String, at node: YAMLNode) -> String? {
        if path == "~" || path.hasPrefix("~/") || path.hasPrefix("$") {
            report(at: node.mark, "\(name) is `\(path)`, and no shell replaces `\(path.prefix(1))` here; expected the path written out")
            return nil
        }
        return path
    }

    /// Reports a file of the cluster that the daemon wouldn't use.
    mutating func check(_ node: YAMLNode, path: String, of file: ClusterFile, expected: String) {
        guard let files else { return }
        do throws(RegularFile.Failure) {
            let mode = try files.look(at: path).mode
            if mode & S_IFMT != S_IFREG {
                report(at: node.mark, "the file `\(path)` can't be used: it isn't a regular file; expected \(expected)")
            } else if let problem = try file.at(path).problem(files) {
                report(at: node.mark, "the file `\(path)` isn't used: \(problem)")
            }
        } catch {
            report(at: node.mark, "the file `\(path)` can't be used: \(reason(error, path)); expected \(expected)")
        }
    }

    mutating func checkEnvironmentFile(_ path: String, at node: YAMLNode) {
        if path.namesInstance { return }
        do throws(ProcessError) {
            _ = try EnvironmentFile.load([path], within: .seconds(5))
        } catch {
            report(at: node.mark, error.message)
        }
    }

    mutating func checkDirectory(_ path: String, at node: YAMLNode) {
        guard let files, !path.namesInstance else { return }
        do throws(RegularFile.Failure) {
            let look = try files.look(at: path)
            if look.mode & S_IFMT != S_IFDIR || !look.isExecutable {
                report(at: node.mark, "`\(path)` isn't a directory that may be entered; expected one")
            }
        } catch {
            report(at: node.mark, "the directory `\(path)` can't be used: \(reason(error, path)); expected one that is there")
        }
    }

    /// Reports a file that the daemon won't write, because another user could lead it elsewhere.
    mutating func checkPlace(_ path: String, at node: YAMLNode) {
        do throws(RegularFile.Failure) {
            guard !path.namesInstance, let danger = try files?.danger(at: path) else { return }
            report(at: node.mark, "`\(path)` won't be written: \(danger)")
        } catch {
            report(at: node.mark, "`\(path)` can't be looked at: \(reason(error, path)); expected a path that can be written")
        }
    }

    /// Reports a file that doesn't exist or can't be executed.
    ///
    /// - Parameters:
    ///   - searchPath: the directories in which a name without a slash is looked up; nil means that it isn't looked up.
    ///   - directory: the child's working directory.
    mutating func checkExecutable(_ path: String, searchPath: String?, directory: String?, at node: YAMLNode) {
        guard let files, !path.namesInstance, directory?.namesInstance != true else { return }
        func isExecutable(_ path: String) -> Bool {
            guard let look = try? files.look(at: path) else { return false }
            return look.mode & S_IFMT == S_IFREG && look.isExecutable
        }
        if !path.contains("/"), let searchPath {
            guard !searchPath.split(separator: ":").contains(where: { isExecutable("\($0)/\(path)") }) else { return }
            return report(at: node.mark, "there is no executable `\(path)` in PATH (\(searchPath)); expected its name or its path")
        }
        // The kernel resolves a relative path from the child's working directory.
        let candidates = path.hasPrefix("/") ? [path] : [directory.map { "\($0)/\(path)" }, path].compactMap(\.self)
        guard !candidates.contains(where: isExecutable) else { return }
        var failure = RegularFile.Failure.notOpened(errno: ENOENT)
        for there in candidates {
            do throws(RegularFile.Failure) {
                _ = try files.look(at: there)
                return report(at: node.mark, "`\(there)` can't be executed; mend it with `chmod +x \(there)`, or name another")
            } catch {
                failure = error
            }
        }
        report(at: node.mark, "there is no executable `\(path)`: \(reason(failure, path)); expected the path of one")
    }

    /// Returns the description of a failure, and for a relative path the directory from which it was resolved.
    private func reason(_ failure: RegularFile.Failure, _ path: String) -> String {
        let reason = failure.explanation
        guard !path.hasPrefix("/"), let working = getcwd(nil, 0) else { return reason }
        defer { free(working) }
        return "\(reason) (looked for from \(String(cString: working)))"
    }
}

import Crypto
import Foundation

/// The name that separates a program's store from those of other programs.
struct ProgramName: Hashable {
    /// The identifier of a bundle, or a name and a digest: `shop-1f8d0c6b52e9`.
    let text: String

    /// The name of this process.
    static var current: ProgramName {
        let executable = Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments.first ?? "")
        return ProgramName(
            executable, bundle: Bundle.main.bundleIdentifier, arguments: CommandLine.arguments)
    }

    /// - Parameters:
    ///   - bundle: the identifier of the executable's bundle.
    ///   - arguments: the arguments of the process. All processes that run tests have the same name: the test bundle in
    ///     their arguments distinguishes them.
    init(_ executable: URL, bundle: String?, arguments: [String]) {
        if let tests = Self.testBundle(executable, arguments: arguments) {
            text = Self.name(of: tests)
        } else {
            text = bundle ?? Self.name(of: executable)
        }
    }

    private static func testBundle(_ executable: URL, arguments: [String]) -> URL? {
        let name = executable.lastPathComponent
        guard name == "xctest" || name == "swiftpm-testing-helper" || name.hasSuffix(suffix) else { return nil }
        for argument in arguments.dropFirst() {
            // The bundle, or the executable in it.
            let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
            guard let end = parts.firstIndex(where: { $0.hasSuffix(suffix) }) else { continue }
            return URL(filePath: parts[...end].joined(separator: "/"))
        }
        return name.hasSuffix(suffix) ? executable : nil
    }

    private static let suffix = ".xctest"

    /// Returns the executable's name with twelve hexadecimal digits of the SHA-256 of its path.
    ///
    /// Symbolic links in the path are resolved, because the path by which a program was started varies: a shell may use
    /// a relative path, and SwiftPM's `.build/debug` is a link.
    private static func name(of file: URL) -> String {
        let file = file.resolvingSymlinksInPath()
        let digest = SHA256.hash(data: Data(file.path.utf8)).prefix(6)
        return "\(file.lastPathComponent)-\(Hex.text(of: digest))"
    }
}

extension Store {
    /// Returns the full store names of the programs without a bundle that have a name, sorted.
    package static func names(ofPrograms name: String) -> [String] {
        let user = UserDirectories.current
        let start = fileName(name) + "-"
        let all = [user.caches, user.data].flatMap { place in
            (try? FileManager.default.contentsOfDirectory(atPath: place.appending(path: "Diamond").path)) ?? []
        }
        let digits = Set("0123456789abcdef")
        let own = all.filter { candidate in
            let rest = candidate.dropFirst(start.count)
            return candidate.hasPrefix(start) && rest.count == 12 && rest.allSatisfy(digits.contains)
        }
        return Set(own).sorted().map { $0.removingPercentEncoding ?? $0 }
    }

    /// Whether a directory of the store exists.
    package var isThere: Bool {
        [directory, replayDirectory].contains { FileManager.default.fileExists(atPath: $0.path) }
    }
}

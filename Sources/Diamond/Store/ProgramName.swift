import Crypto
import Foundation

/// The name that separates a program's store from those of other programs.
struct ProgramName: Hashable {
    /// The identifier of a bundle, or a name and a digest: `shop-1f8d0c6b52e9`.
    let text: String

    /// The name of this process.
    static var current: ProgramName {
        let executable = Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments.first ?? "")
        return ProgramName(executable, bundle: Bundle.main.bundleIdentifier, CommandLine.arguments)
    }

    /// - Parameters:
    ///   - bundle: the identifier of the executable's bundle.
    ///   - arguments: of the process. One that runs tests is called as every other that does: what tells them apart is the
    ///     bundle of tests among these.
    init(_ executable: URL, bundle: String?, _ arguments: [String]) {
        if let tests = Self.tests(executable, arguments) {
            text = Self.name(of: tests)
        } else {
            text = bundle ?? Self.name(of: executable)
        }
    }

    private static func tests(_ executable: URL, _ arguments: [String]) -> URL? {
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

    /// The executable's name, and twelve hexadecimal digits of the SHA-256 of its path without links.
    ///
    /// The path by which a program was started names no store: a shell may start it by a relative one, and SwiftPM's
    /// `.build/debug` is a link.
    private static func name(of file: URL) -> String {
        let file = file.resolvingSymlinksInPath()
        let digest = SHA256.hash(data: Data(file.path.utf8)).prefix(6)
        return "\(file.lastPathComponent)-\(Hex.text(of: digest))"
    }
}

extension Store {
    /// The stores of programs that are called so and have no bundle, by their names in full, in order.
    package static func names(ofPrograms name: String) -> [String] {
        let (user, start) = (UserDirectories.current, fileName(name) + "-")
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

    /// Whether there is a directory of the store.
    package var isThere: Bool {
        [directory, replayDirectory].contains { FileManager.default.fileExists(atPath: $0.path) }
    }
}

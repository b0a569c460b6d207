import DiamondTestSupport
import Foundation
import Testing

/// A small file system in memory, mounted for one test; needs Linux and root.
final class SmallDisk {
    let directory = FileManager.default.temporaryDirectory.appending(path: "diamond-disk-\(UUID().uuidString)")

    static var isPossible: Bool {
        #if os(Linux)
        geteuid() == 0
        #else
        false
        #endif
    }

    init(kibibytes: Int = 384) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try await Self.call("mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k,mode=0755", "tmpfs", directory.path)
    }

    func makeReadOnly() async throws { try await Self.call("mount", "-o", "remount,ro", directory.path) }

    func remove() async throws {
        try await Self.call("umount", "-l", directory.path)
        try FileManager.default.removeItem(at: directory)
    }

    private static func call(_ command: String, _ arguments: String...) async throws {
        var tool = BuiltTool("")
        tool.url = URL(filePath: "/usr/bin/env")
        let outcome = try await tool.run([command] + arguments)
        try #require(outcome.status == 0, "\(command) \(arguments): \(outcome.errors)")
    }
}

import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("The reachability of the system", .limit(minutes: 5)) struct SystemReachabilityTests {
    #if os(Linux)
    private static func inNetworkOfItsOwn(_ program: URL, _ arguments: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            URL(filePath: "/usr/bin/env"), ["unshare", "--map-root-user", "--net", program.path] + arguments,
            errors: .null)
    }

    private static let mayHaveNetwork: @Sendable () async throws -> Bool = {
        try await inNetworkOfItsOwn(URL(filePath: "/bin/sh"), ["-c", "PATH=$PATH:/sbin:/usr/sbin ip link"]).ended()
            == .exited(0)
    }

    @Test(.enabled("a network of one's own needs unshare and ip, and may be forbidden", mayHaveNetwork))
    func `reports when a link comes up`() async throws {
        let process = try Self.inNetworkOfItsOwn(BuiltTool("QueueHammer").url, ["network"])
        #expect(await process.ended() == .exited(0))
    }
    #endif

    @Test func `has a separate sequence of changes for each observer`() async {
        let reachability = SystemReachability()
        let changes = (0..<3).map { _ in reachability.changes }
        reachability.notify()
        for changes in changes {
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() != nil)
        }
    }
}

import DiamondSQLite
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A sink that stores its bytes, and records its calls.
final class BodyRecorder: DownloadSink {
    private struct State {
        var calls: [String] = []
        var isBusy = false
        var head: Response?
        var body = Data()
    }

    private let state = Guarded(State())
    private let meanwhile: @Sendable (String) async throws -> Void

    /// - Parameter meanwhile: called in each call, with its name, before any byte is stored.
    init(meanwhile: @escaping @Sendable (String) async throws -> Void = { _ in }) { self.meanwhile = meanwhile }

    /// The calls in order, each begin with its status. The number of pieces depends on the wire: successive writes
    /// are one.
    var calls: [String] { state.withLock { $0.calls } }
    var head: Response? { state.withLock { $0.head } }
    /// The bytes since the last begin.
    var body: Data { state.withLock { $0.body } }
    var text: String { String(decoding: body, as: UTF8.self) }

    func begin(_ head: Response) async throws {
        #expect(head.body.isEmpty)
        try await take("begin \(head.status.code)") { ($0.head, $0.body) = (head, Data()) }
    }

    func write(_ piece: Data) async throws {
        #expect(!piece.isEmpty)
        try await take("write") { $0.body.append(piece) }
    }

    func finish() async throws { try await take("finish") { _ in } }

    private func take(_ call: String, _ change: @Sendable (inout State) -> Void) async throws {
        let isAlone = state.withLock { state in
            if call != "write" || state.calls.last != call { state.calls.append(call) }
            defer { state.isBusy = true }
            return !state.isBusy
        }
        #expect(isAlone)
        defer { state.withLock { $0.isBusy = false } }
        try await meanwhile(call)
        state.withLock { change(&$0) }
    }
}

import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("A body from an asynchronous sequence", .limit(minutes: 5)) struct TransportStreamTests {
    /// A sequence that counts its calls, and signals its release.
    private struct Source: AsyncSequence, Sendable {
        let asked = Guarded(0)
        let isCanceled = Gate()
        let size: Int
        /// The number of pieces after which it waits until it is canceled.
        var limit = Int.max
        /// A gate that it waits for before the first piece.
        var mayBegin: Gate?

        struct Iterator: AsyncIteratorProtocol {
            let source: Source

            mutating func next() async throws -> Data? { await source.next() }
        }

        func makeAsyncIterator() -> Iterator { Iterator(source: self) }

        private func next() async -> Data? {
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            await mayBegin?.wait()
            if count > limit { await waitUntilCanceled() }
            return Task.isCancelled ? nil : Data(count: size)
        }

        private func waitUntilCanceled() async {
            await withTaskCancellationHandler {
                await isCanceled.wait()
            } onCancel: {
                isCanceled.open()
            }
        }
    }

    @Test func `a sequence is read as a body`() async throws {
        let body = BodyStream(PatternStream(count: 3_000_000))
        var received = Data()
        for try await piece in body { received += piece }
        #expect(received == Pattern.bytes(count: 3_000_000))
    }

    @Test func `a sequence is collected as a body`() async throws {
        #expect(try await BodyStream(PatternStream(count: 3_000_000)).collect() == Pattern.bytes(count: 3_000_000))
        #expect(try await BodyStream(Data("all".utf8)).collect(limit: 3) == Data("all".utf8))
    }

    @Test func `a sequence is empty when it is read again`() async throws {
        let body = BodyStream(Data("once".utf8))
        #expect(try await body.collect() == Data("once".utf8))
        for try await piece in body { Issue.record("came again: \(piece)") }
    }

    @Test func `a sequence is asked for no more pieces than are read`() async throws {
        let source = Source(size: 1 << 20)
        let body = BodyStream(source)
        var pieces = body.makeAsyncIterator()
        for _ in 0..<20 { _ = try await pieces.next() }
        // One piece is read, one waits to be read, one is being created.
        #expect(source.asked.withLock { $0 } <= 22)
    }

    @Test func `a sequence is released with its body`() async {
        let source = Source(size: 1, limit: 0)
        var body: BodyStream? = BodyStream(source)
        #expect(body != nil)
        body = nil
        await source.isCanceled.wait()
    }

    @Test func `a sequence is released when its reader is canceled`() async {
        let source = Source(size: 1, limit: 0)
        let body = BodyStream(source)
        let reader = Task { try await body.collect() }
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? TransportError)?.code == .cancelled }
        await source.isCanceled.wait()
    }

    @Test func `a sequence is not read further once it exceeds the limit`() async {
        // Not before the limit is known: another limit bounds what is read ahead.
        let begin = Gate()
        let source = Source(size: 2, limit: 3, mayBegin: begin)
        await #expect {
            try await BodyStream(source).collect(limit: 5) { _ in begin.open() }
        } throws: { ($0 as? TransportError)?.code == .bodyTooLarge }
        // The third piece is one too many.
        #expect(source.asked.withLock { $0 } == 3)
    }

    @Test func `a body fails with the error of its sequence`() async {
        struct Failure: Error {}
        let known = TransportError(.tlsFailed, "known")
        for failure in [Failure(), known] as [any Error] {
            await #expect {
                try await BodyStream(PieceSequence([Data("a".utf8)], failure: failure)).collect()
            } throws: { error in
                let error = error as? TransportError
                return error?.code == .tlsFailed || (error?.code == .other && error?.cause is Failure)
            }
        }
    }
}

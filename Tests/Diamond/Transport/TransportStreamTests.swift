import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A stream of pieces` {
    /// Counts what it is asked for, and says when it is let go.
    private struct Source: AsyncSequence, Sendable {
        let asked = Guarded(0)
        let isCanceled = Gate()
        let size: Int
        /// Waits after this many pieces until it is canceled.
        var limit = Int.max
        /// Waits before the first for it.
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

    @Test func `comes as a body`() async throws {
        let body = BodyStream(PatternStream(count: 3_000_000))
        var received = Data()
        for try await piece in body { received += piece }
        #expect(received == Pattern.bytes(count: 3_000_000))
    }

    @Test func `comes as a whole`() async throws {
        #expect(try await BodyStream(PatternStream(count: 3_000_000)).collect() == Pattern.bytes(count: 3_000_000))
        #expect(try await BodyStream(Data("all".utf8)).collect(limit: 3) == Data("all".utf8))
    }

    @Test func `is empty the second time`() async throws {
        let body = BodyStream(Data("once".utf8))
        #expect(try await body.collect() == Data("once".utf8))
        for try await piece in body { Issue.record("came again: \(piece)") }
    }

    @Test func `is asked for no more than is read`() async throws {
        let source = Source(size: 1 << 20)
        let body = BodyStream(source)
        var pieces = body.makeAsyncIterator()
        for _ in 0..<20 { _ = try await pieces.next() }
        // One is read, one waits to be read, one is being made.
        #expect(source.asked.withLock { $0 } <= 22)
    }

    @Test func `is let go with its body`() async {
        let source = Source(size: 1, limit: 0)
        var body: BodyStream? = BodyStream(source)
        #expect(body != nil)
        body = nil
        await source.isCanceled.wait()
    }

    @Test func `is let go when its reader is canceled`() async {
        let source = Source(size: 1, limit: 0)
        let body = BodyStream(source)
        let reader = Task { try await body.collect() }
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? TransportError)?.code == .cancelled }
        await source.isCanceled.wait()
    }

    @Test func `is asked for no more when it is too large`() async {
        // Not before the limit is known: what is read ahead is bounded by another.
        let begin = Gate()
        let source = Source(size: 2, limit: 3, mayBegin: begin)
        await #expect {
            try await BodyStream(source).collect(limit: 5) { _ in begin.open() }
        } throws: { ($0 as? TransportError)?.code == .bodyTooLarge }
        // The third piece is one too many.
        #expect(source.asked.withLock { $0 } == 3)
    }

    @Test func `fails with the error of its source`() async {
        struct Failure: Error {}
        let known = TransportError(.tlsFailed, "known")
        for failure in [Failure(), known] as [any Error] {
            await #expect {
                try await BodyStream(Pieces([Data("a".utf8)], failure: failure)).collect()
            } throws: { error in
                let error = error as? TransportError
                return error?.code == .tlsFailed || (error?.code == .other && error?.cause is Failure)
            }
        }
    }
}

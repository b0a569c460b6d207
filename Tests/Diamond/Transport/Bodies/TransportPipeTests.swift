import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("The pipe of a body", .limit(minutes: 5)) struct TransportPipeTests {
    private static let error = TransportError(.connectionLost, "broken")

    @Test func `a pipe delivers its pieces, then the end`() async throws {
        let pipe = BodyPipe()
        #expect(pipe.yield(Data("a".utf8)) == .more)
        #expect(pipe.yield(Data("b".utf8)) == .more)
        #expect(try await pipe.next() == Data("ab".utf8))
        pipe.finish(nil)
        #expect(try await pipe.next() == nil)
        #expect(try await pipe.next() == nil)
    }

    @Test func `a pipe delivers a slice of Data with a startIndex of 0`() async throws {
        let (pipe, bytes) = (BodyPipe(), Data("0123".utf8))
        _ = pipe.yield(bytes[2...])
        let piece = try #require(try await pipe.next())
        #expect(piece.startIndex == 0 && piece == Data("23".utf8))
        _ = pipe.yield(bytes)
        #expect(try await pipe.next() == bytes)
    }

    @Test func `a pipe delivers its pieces before a failure`() async throws {
        let pipe = BodyPipe()
        _ = pipe.yield(Data("a".utf8))
        pipe.finish(Self.error)
        #expect(try await pipe.next() == Data("a".utf8))
        await #expect { try await pipe.next() } throws: { ($0 as? TransportError)?.code == .connectionLost }
    }

    @Test func `a pipe ends when its reader's task is canceled, even if the reader never suspends`() async throws {
        let (pipe, isStopped, mayRead) = (BodyPipe(), Gate(), Gate())
        pipe.connect(onResume: {}, onStop: { isStopped.open() })
        _ = pipe.yield(Data("a".utf8))
        let reader = Task {
            await mayRead.wait()
            // The present piece is the last.
            #expect(try await pipe.next() == Data("a".utf8))
            #expect(pipe.yield(Data("b".utf8)) == .stop)
            _ = try await pipe.next()
        }
        reader.cancel()
        mayRead.open()
        await #expect { try await reader.value } throws: { ($0 as? TransportError)?.code == .cancelled }
        #expect(isStopped.isOpen)
    }

    @Test func `a pipe has one reader at a time, and reports an error to the second`() async throws {
        let pipe = BodyPipe()
        await withTaskGroup(of: Result<Data?, any Error>.self) { readers in
            for _ in 0..<2 { readers.addTask { await Result { try await pipe.next() } } }
            // The second reader.
            let refused = await readers.next()
            #expect {
                try refused?.get()
            } throws: {
                ($0 as? TransportError)?.code == .other && "\($0)".contains("one reader at a time")
            }
            _ = pipe.yield(Data("a".utf8))
            let read = await readers.next()
            #expect((try? read?.get()) == Data("a".utf8))
        }
    }

    @Test func `a pipe resumes its reader with a piece, and with the end`() async throws {
        let pipe = BodyPipe()
        async let first = pipe.next()
        _ = pipe.yield(Data())
        _ = pipe.yield(Data("a".utf8))
        #expect(try await first == Data("a".utf8))
        async let second = pipe.next()
        pipe.finish(nil)
        #expect(try await second == nil)
    }

    @Test func `a pipe pauses its producer at the high-water mark, and resumes it once the pipe is drained`()
        async throws
    {
        let (pipe, resumptions) = (BodyPipe(highWater: 4), Guarded(0))
        pipe.connect(onResume: { resumptions.withLock { $0 += 1 } }, onStop: {})
        #expect(pipe.yield(Data("abc".utf8)) == .more)
        #expect(!pipe.isFull)
        #expect(pipe.yield(Data("d".utf8)) == .pause)
        #expect(pipe.isFull)
        #expect(pipe.yield(Data("e".utf8)) == .pause)
        #expect(resumptions.withLock { $0 } == 0)
        #expect(try await pipe.next() == Data("abcde".utf8))
        #expect(!pipe.isFull)
        #expect(resumptions.withLock { $0 } == 1)
        _ = pipe.yield(Data("f".utf8))
        _ = try await pipe.next()
        #expect(resumptions.withLock { $0 } == 1)
    }

    @Test func `a pipe ends once: the first end counts`() async throws {
        let pipe = BodyPipe()
        pipe.finish(nil)
        pipe.finish(Self.error)
        pipe.abandon()
        #expect(pipe.yield(Data("late".utf8)) == .stop)
        #expect(try await pipe.next() == nil)
    }

    @Test func `a pipe stops its producer, once, when its reader is released`() async {
        let (pipe, stops) = (BodyPipe(), Guarded(0))
        pipe.connect(onResume: {}, onStop: { stops.withLock { $0 += 1 } })
        pipe.abandon()
        pipe.abandon()
        #expect(stops.withLock { $0 } == 1)
        #expect(pipe.yield(Data("a".utf8)) == .stop)
        await #expect { try await pipe.next() } throws: { ($0 as? TransportError)?.code == .cancelled }
    }

    @Test func `a pipe does not stop a producer that has finished`() {
        let (pipe, stops) = (BodyPipe(), Guarded(0))
        pipe.connect(onResume: {}, onStop: { stops.withLock { $0 += 1 } })
        pipe.finish(nil)
        pipe.abandon()
        #expect(stops.withLock { $0 } == 0)
    }

    @Test func `a pipe stops its producer when its reader is canceled`() async {
        let (pipe, isStopped) = (BodyPipe(), Gate())
        pipe.connect(onResume: {}, onStop: { isStopped.open() })
        let reader = Task { try await pipe.next() }
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? TransportError)?.code == .cancelled }
        await isStopped.wait()
        #expect(pipe.yield(Data("a".utf8)) == .stop)
    }

    @Test func `a pipe collects all pieces without a pause`() async throws {
        let (pipe, isResumed) = (BodyPipe(highWater: 2), Gate())
        pipe.connect(onResume: { isResumed.open() }, onStop: {})
        #expect(pipe.yield(Data("ab".utf8)) == .pause)
        async let all = pipe.collect(limit: 6)
        await isResumed.wait()
        #expect(pipe.yield(Data("cdef".utf8)) == .more)
        pipe.finish(nil)
        #expect(try await all == Data("abcdef".utf8))
    }

    @Test func `a pipe collects no more than the limit, and stops its producer there`() async {
        let (pipe, stops) = (BodyPipe(highWater: 1), Guarded(0))
        let isResumed = Gate()
        pipe.connect(onResume: { isResumed.open() }, onStop: { stops.withLock { $0 += 1 } })
        _ = pipe.yield(Data("a".utf8))
        let all = Task { try await pipe.collect(limit: 3) }
        await isResumed.wait()
        #expect(pipe.yield(Data("bcd".utf8)) == .stop)
        await #expect { try await all.value } throws: { ($0 as? TransportError)?.code == .bodyTooLarge }
        #expect(stops.withLock { $0 } == 1)
    }

    @Test func `a pipe receives pieces from one thread while another reads`() async throws {
        let pipe = BodyPipe(highWater: 1000)
        let hasRoom = Signal()
        pipe.connect(onResume: { hasRoom.wake() }, onStop: {})
        Task {
            for index in 0..<2000 {
                if pipe.yield(Pattern.bytes(from: index * 100, count: 100)) == .pause { await hasRoom.wait() }
            }
            pipe.finish(nil)
        }
        var all = Data()
        while let piece = try await pipe.next() { all += piece }
        #expect(all == Pattern.bytes(count: 200_000))
    }
}

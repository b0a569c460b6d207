import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A dependency that is freed` {
    /// What an app hands over, and what does something when it is let go of.
    private final class Toucher: Sendable {
        private let count: Guarded<Int>

        init(_ count: Guarded<Int>) { self.count = count }

        deinit {
            Connection(Request("http://h/own")).addDependency(Connection(Request("http://h/other")))
            count.withLock { $0 += 1 }
        }
    }

    @Test func `lets go of the app's closures where no lock is held, whoever has them last`() {
        let rounds = Effort.rounds(4000, soaking: 200_000)
        let freed = Guarded(0)
        let target = Connection(Request("http://h/"))
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<rounds {
                let connection = Connection(Request("http://h/a"))
                connection.addDependency(target) { [toucher = Toucher(freed)] _, _ in withExtendedLifetime(toucher) {} }
            }
        }
        #expect(freed.withLock { $0 } == 4 * rounds)
    }

    @Test func `lets go of what decides on failures where no lock is held`() {
        let connection = Connection(Request("http://h/"))
        let states = Guarded<[ConnectionState]>([])
        connection.failedDependencies = .custom { [reader = Reader(connection, states)] _, _ in
            withExtendedLifetime(reader) { true }
        }
        connection.failedDependencies = .ignore
        #expect(states.withLock { $0 } == [.ready])
    }

    /// Asks the connection when it is let go of.
    private final class Reader: Sendable {
        private let state: @Sendable () -> ConnectionState?
        private let states: Guarded<[ConnectionState]>

        init(_ connection: Connection, _ states: Guarded<[ConnectionState]>) {
            (state, self.states) = ({ [weak connection] in connection?.state }, states)
        }

        deinit {
            if let state = state() { states.withLock { $0.append(state) } }
        }
    }

    private final class Remains: Sendable {
        let last: Guarded<Connection?>
        private let reference: Guarded<Weak>

        private struct Weak { weak var connection: Connection? }

        init(_ connection: Connection, awaitedBy last: Connection) {
            self.last = Guarded(last)
            reference = Guarded(Weak(connection: connection))
        }

        /// The connection, where it is there still.
        func revived() -> Connection? { reference.withLock { $0.connection } }
    }

    @Test func `keeps what it waits for where the app takes it up again at that moment`() {
        let target = Connection(Request("http://h/"))
        for _ in 0..<Effort.rounds(20_000, soaking: 1_000_000) {
            let remains: Remains = {
                let (middle, last) = (Connection(Request("http://h/a")), Connection(Request("http://h/b")))
                middle.addDependency(target)
                last.addDependency(middle)
                return Remains(middle, awaitedBy: last)
            }()
            let revived = Guarded<Connection?>(nil)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                guard index > 0 else {
                    let last = remains.last.withLock { last in
                        defer { last = nil }
                        return last
                    }
                    return withExtendedLifetime(last) {}
                }
                let connection = remains.revived()
                revived.withLock { $0 = connection }
            }
            if let connection = revived.withLock({ $0 }) { #expect(connection.dependencies == [target]) }
        }
    }

    @Test func `frees a chain longer than a stack is deep, by any number of threads`() {
        let rounds = Effort.rounds(20_000, soaking: 1_000_000)
        let count = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            var last: Connection?
            for _ in 0..<rounds {
                let connection = Counted(Request("http://h/"))
                connection.count = count
                if let last { connection.addDependency(last) }
                last = connection
            }
        }
        #expect(count.withLock { $0 } == 2 * rounds)
    }

    private final class Counted: Connection, @unchecked Sendable {
        var count: Guarded<Int>?

        deinit { count?.withLock { $0 += 1 } }
    }
}

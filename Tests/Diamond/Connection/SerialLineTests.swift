import Testing

@testable import Diamond

@Suite struct `The order of a serial lane` {
    private let connections = (0..<4).map { Connection(Request("http://h/\($0)")) }

    @Test(arguments: 0..<4) func `closes the gap of one that leaves, which may come again`(number: Int) {
        var line = SerialLine()
        func append(_ connection: Connection) -> Bool { line.append(connection) }
        func remove(_ connection: Connection) -> (left: Connection?, turn: Dependency?) {
            line.remove(ObjectIdentifier(connection))
        }
        for connection in connections { #expect(append(connection)) }
        let gone = connections[number]
        var left = connections
        left.remove(at: number)
        #expect(remove(gone).turn?.dependent === (number == 0 ? left[0] : nil))
        #expect(append(gone))
        left.append(gone)
        for (connection, next) in zip(left, left.dropFirst()) {
            let (leaving, turn) = remove(connection)
            #expect(leaving === connection && turn?.dependent === next)
            #expect(next.node.predecessor == nil && connection.node.follower == nil)
        }
        #expect(remove(gone).turn == nil && line.isEmpty)
        #expect(remove(gone).left == nil)
    }
}

import Testing

@testable import Diamond

@Suite struct `The order of a serial lane` {
    private let connections = (0..<4).map { Connection(Request("http://h/\($0)")) }

    @Test func `is kept where one that left comes again, or another with its address`() {
        var line = SerialLine()
        var holds: [Dependency] = []
        func append(_ number: Int) {
            line.append(connections[number]) { connection in
                holds.append(connection.hold())
                return holds[holds.count - 1]
            }
        }
        for number in 0..<3 { append(number) }
        #expect(line.remove(ObjectIdentifier(connections[1])) == nil)
        append(1)
        #expect(line.remove(ObjectIdentifier(connections[0])) === holds[1])
        #expect(line.remove(ObjectIdentifier(connections[2])) === holds[2])
        #expect(line.remove(ObjectIdentifier(connections[1])) == nil && line.isEmpty)
    }
}

import Testing

@testable import Diamond

@Suite("The order of a serial lane") struct SerialLineTests {
    private let connections = (0..<4).map { Connection(Request("http://h/\($0)")) }

    @Test(arguments: 0..<4) func `a serial line closes the gap of a removed connection, which can be appended again`(
        number: Int
    ) {
        var line = SerialLine()
        var met: [AnyObject] = []
        func append(_ connection: Connection) -> Bool { line.append(connection, releaseLater: &met) }
        func remove(_ connection: Connection) -> Dependency? {
            met = []
            return line.remove(ObjectIdentifier(connection), releaseLater: &met)
        }
        for connection in connections { #expect(append(connection)) }
        let gone = connections[number]
        var left = connections
        left.remove(at: number)
        #expect(remove(gone)?.dependent === (number == 0 ? left[0].knownNode : nil))
        #expect(append(gone))
        left.append(gone)
        for (connection, next) in zip(left, left.dropFirst()) {
            let turn = remove(connection)
            #expect(met.contains { $0 === connection } && turn?.dependent === next.knownNode)
            #expect(next.knownNode?.predecessor == nil && connection.knownNode?.successor == nil)
        }
        #expect(remove(gone) == nil && line.isEmpty)
        #expect(remove(gone) == nil && met.isEmpty)
    }
}

import Diamond
import Testing

@Suite("A connection's error") struct ConnectionErrorTests {
    @Test(
        arguments: [
            (.cannotConnect, true), (.connectionLost, true), (.timedOut, true), (.badStatus, false),
            (.cancelled, false), (.notStored, false), (.badRequest, false), (.circuitOpen, false),
        ] as [(ConnectionError.Code, Bool)])
    func `an error is offline if the network is its reason`(code: ConnectionError.Code, isOffline: Bool) {
        #expect(ConnectionError(code, "a message").isOffline == isOffline)
    }
}

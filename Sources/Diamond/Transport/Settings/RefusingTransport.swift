/// Sends nothing: in place of a transport whose settings cannot be kept to, so that nothing goes out another way.
struct RefusingTransport: Transport {
    let refusal: TransportError

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse { throw refusal }

    func close() async {}
}

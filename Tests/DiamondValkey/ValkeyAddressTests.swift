#if Valkey
import DiamondTestSupport
import Testing

@testable import DiamondValkey

@Suite("ValkeyAddress", .limit(minutes: 1)) struct ValkeyAddressTests {
    @Test(arguments: [
        ("valkey://localhost", "valkey://localhost:6379/0"), ("redis://10.0.0.1:7000/3", "valkey://10.0.0.1:7000/3"),
        ("valkeys://u:p@cache.example:6380", "valkeys://cache.example:6380/0"),
        ("REDISS://cache.example/", "valkeys://cache.example:6379/0"), ("valkey://[::1]:1/2", "valkey://[::1]:1/2"),
        ("valkey+unix:///run/valkey.sock?db=4", "valkey+unix:///run/valkey.sock"),
    ])
    func `a URL names a server`(url: String, description: String) throws {
        #expect(try ValkeyAddress(url).description == description)
    }

    @Test func `user, password and options come from the URL`() throws {
        let address = try ValkeyAddress("valkeys://app:p%40ss%2F@h:1/2?prefix=shop&ca=/etc/ca.pem")
        #expect(address.target == .tcp(host: "h", port: 1))
        #expect(address.user == "app")
        #expect(address.password == "p@ss/")
        #expect(address.usesTLS)
        #expect(address.database == 2)
        #expect(address.prefix == "shop")
        #expect(address.certificates == "/etc/ca.pem")
    }

    @Test(arguments: [
        "", "localhost:6379", "http://h", "valkey://", "valkey://h/x", "valkey://h/1?db=2",
        "valkey://h?prefix=a&prefix=b",
        "valkey://h?prefix={a}", "valkey://h?timeout=3", "valkey://user@h", "valkey://h:0", "valkey://h:70000",
        "valkey+unix://h/path", "valkey+unix:relative",
    ])
    func `another URL is refused`(url: String) {
        let error = #expect(throws: ValkeyError.self) { try ValkeyAddress(url) }
        #expect(error?.code == .badAddress)
    }

    @Test(arguments: [
        "valkey://:hunter2@h", "valkey://app:hunter2@h/x", "valkey://app:hun/hunter2@h", "valkey://app:1#hunter2@h",
        "valkey://app:1?hunter2@h", "valkey://hunter2@h", "valkey://app:hunter2@h:99999", "hunter2",
    ])
    func `no password is in a description or an error, wherever a mistake puts it`(url: String) {
        var text = ""
        do {
            let address = try ValkeyAddress(url)
            dump(address, to: &text)
            text += "\(address) \(String(reflecting: address)) \(Optional(address) as Any)"
        } catch {
            text += "\(error) \(String(reflecting: error))"
        }
        #expect(!text.contains("hunter2"))
    }
}
#endif

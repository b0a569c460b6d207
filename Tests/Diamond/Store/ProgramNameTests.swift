import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("The name of a program") struct ProgramNameTests {
    private func name(_ path: String, bundle: String? = nil, _ arguments: String...) -> String {
        ProgramName(URL(filePath: path), bundle: bundle, arguments: [path] + arguments).text
    }

    @Test func `a program's name is its bundle's identifier, if it has a bundle`() {
        #expect(name("/Applications/Shop.app/Contents/MacOS/Shop", bundle: "com.example.shop") == "com.example.shop")
    }

    @Test func `a program's name without a bundle is its executable's, with a digest of the path`() {
        // printf %s /srv/one/App | sha256sum | head -c 12
        #expect(name("/srv/one/App") == "App-66d54b2a9409")
        #expect(name("/srv/one/App") != name("/srv/two/App"))
        #expect(name("/srv/one/App", "a", "/b/Tests.xctest") == name("/srv/one/App"))
    }

    @Test func `a program's name is the same through a symbolic link`() throws {
        let folder = TemporaryFolder()
        let program = try folder.file("App", Data())
        let link = folder.url.appending(path: "other")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: program)
        #expect(name(link.path) == name(program.path) && name(link.path).hasPrefix("App-"))
    }

    @Test func `a program's name differs in each release's directory, even behind the same symbolic link`()
        throws
    {
        let folder = TemporaryFolder()
        let current = folder.url.appending(path: "current")
        var names: Set<String> = []
        for release in ["1", "2"] {
            let directory = folder.url.appending(path: release)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data().write(to: directory.appending(path: "App"))
            try? FileManager.default.removeItem(at: current)
            try FileManager.default.createSymbolicLink(at: current, withDestinationURL: directory)
            names.insert(name(current.path + "/App"))
        }
        #expect(names.count == 2)
    }

    @Test func `a program's name in tests is the test bundle's, whichever test runner is used`() {
        let bundle = "/shop/.build/debug/ShopPackageTests.xctest"
        let plain = name(bundle)
        #expect(plain.hasPrefix("ShopPackageTests.xctest-"))
        #expect(name(bundle, "--testing-library", "swift-testing") == plain)
        #expect(name("/usr/bin/xctest", bundle: "com.apple.dt.xctest.tool", "-XCTest", "All", bundle) == plain)
        let inside = bundle + "/Contents/MacOS/ShopPackageTests"
        #expect(name("/usr/libexec/swift/pm/swiftpm-testing-helper", "--test-bundle-path", inside) == plain)
        #expect(name("/pos/.build/debug/ShopPackageTests.xctest") != plain)
    }

    @Test func `a program's name in these tests is that of their test bundle`() {
        #expect(Store.default.directory.lastPathComponent.contains(".xctest-"))
        #expect(Store.default == Store(named: ProgramName.current.text))
    }
}

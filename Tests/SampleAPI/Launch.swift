import Foundation

@main
struct Launch {
    static func main() async {
        #if Tools
        guard !CommandLine.arguments.dropFirst().contains("--help") else { return print(Options.help) }
        do {
            try await Server(options: Options(CommandLine.arguments.dropFirst())).run()
        } catch {
            fail("\(error)")
        }
        #else
        fail("SampleAPI is built only with the Tools trait: swift build --traits default,Tools --product SampleAPI")
        #endif
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}

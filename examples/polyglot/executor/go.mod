module stretto.example/executor

go 1.19
